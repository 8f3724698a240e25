"""Chapter generative."""

from .reference import Reference

FEW = {"samples": 100, "steps": 50}

VALUES = {
    "transport-1d": [
        Reference(
            {"W₁ to the power 1": 2 / 3, "W₂ to the power 2": 1 / 2, "W₃ to the power 3": 5 / 12}
        ),
        Reference(
            {
                "W₂² of U(0,1) and N(0,1)": 0.769143750,
                "W₂² of N(0,1) and Exp(1)": 1.193605429,
                "W₁ of N(0,1) and N(1,4)": 1.166630941,
                "mean W₁ of ten uniform draws to their law": 18719761 / 187500000,
            }
        ),
    ],
    "bures-and-fid": [
        Reference({"Fréchet distance": 2.771220448}),
        Reference(
            {
                "W₂² of N(0,1) and N(3,4)": 10,
                "bias at n = 10": 0.154681452,
                "W₂² of N(0,1) and U(±√3)": 0.045589952,
            },
            rtol=1e-8,
        ),
    ],
    "kantorovich-duality": [
        Reference(
            {"optimal cost": 7470403 / 5307, "bound by the moments": 925.72058055},
            {"kind": "digits 3 and 8"},
        ),
        Reference({"three points": 2}),
    ],
    "sinkhorn-rate": [
        Reference(
            {
                "P₁₁": 0.293122448,
                "entropic cost": 0.393940459,
                "asymptotic rate": 0.253902545,
                "contraction factor": 0.580025658,
            },
            rtol=2e-9,
        )
    ],
    "entropic-bias": [
        Reference(
            {"OT_ε of N(0,1) and N(1,4)": 2.777670345, "S_ε of N(0,1) and N(1,4)": 1.998054619}
        )
    ],
    "wasserstein-sampling": [
        Reference({"floor": 0.046526287}, rtol=1e-8),
        Reference({"floor of 1000 points in dimension 10": 0.414906753}),
    ],
    "gan-and-transport": [
        Reference(
            {"JS of N(0,1) and N(2,1)": 0.336830820, "Dirac-GAN after 100 steps": 1.644631822},
            rtol=2e-9,
        )
    ],
    "wgan-critic": [Reference({"reported with a gradient penalty": 3.45})],
    "mmd-test": [
        Reference({"threshold": 0.487585033}),
        Reference(
            {"MMD² of N(0,1) and N(1,1)": 0.177267635, "p of eight numbers": 1 / 35}, rtol=2e-9
        ),
        Reference({"p-value": 1 / 35}, {"kind": "four and four"}),
    ],
    "diffusion-score": [
        Reference(
            {"variance at t": 1.4060058497, "denoised x": 4},
            {"components": 1, "spread": 2, "time": 1, "noise": 1, "probe": 5, **FEW},
        ),
        Reference(
            {"score at x": 1.0707032964},
            {"components": 2, "separation": 2, "spread": 1, "time": 0, "probe": 0.7, **FEW},
        ),
    ],
    # -- flows --
    "normalising-flows": [
        Reference(
            {
                "log p of the warped plane": -2.403930731,
                "KL of the warped plane": 1.824360635,
                "log p of 2x + 1 at 1": -1.6120857,
            },
            rtol=1e-7,
        )
    ],
    "trace-estimators": [
        Reference(
            {
                "trace": 2,
                "variance, signs": 18,
                "variance, normal": 46,
                "variance, sphere": 26,
                "log p at time 1": -32.4289045786,
            }
        )
    ],
    "flow-matching": [
        Reference({"velocity": 2.288279000}, {"time": 0.5, "probe": 0.7}),
        Reference(
            {"velocity": 0.548425933},
            {
                "components": 3,
                "separation": 1.5,
                "centre": 0.5,
                "spread": 0.0,
                "time": 0.6,
                "probe": 0.4,
            },
        ),
        Reference({"least loss": 1.570796327}, {"components": 1, "spread": 1.0}),
    ],
    "straight-is-not-optimal": [
        Reference({"cost of the rectified flow": 0.901470233, "W₂²": 0.771220448})
    ],
    "modes-need-steepness": [
        Reference(
            {
                "L for two modes of 0.495, 3 apart": 119.6795507,
                "mass between them with L = 5": 0.2358228444,
                "L for ½N(±2, ¼)": 1490.478994,
            }
        )
    ],
    # -- latent variables --
    "vae-elbo": [
        Reference(
            {
                "ELBO": -1.418938533,
                "L₂": -1.317303888,
                "log p(x)": -1.265512123,
                "Var(w/p)": 2 / 3**0.5 - 1,
            }
        ),
        Reference({"KL(q‖prior)": 1.3068528}, {"mean": 1.0, "deviation": 2.0}, rtol=1e-7),
    ],
    "linear-vae-ppca": [
        Reference(
            {
                "noise variance": 2 / 3,
                "log-likelihood per row": -7.840520104,
                "KL of latent 1": 1.007451510,
                "KL of latent 2": 0.752038698,
            }
        )
    ],
    # -- diffusion --
    "score-matching": [
        Reference(
            {"mmse": 0.449599509, "Fisher information": 0.550400491, "information": 0.336830820},
            rtol=1e-8,
        )
    ],
    "girsanov": [Reference({"KL": 0.019900973, "bound": 0.06}, rtol=1e-7)],
    "sampler-orders": [
        Reference(
            {
                "deviation, Euler ÷ data": 0.846079397,
                "deviation, Heun ÷ data": 1.055269884,
                "variance, DDPM with β": 0.250752075,
                "variance, DDPM with posterior variance": 0.246125211,
                "variance, DDIM": 0.222220480,
            },
            rtol=1e-8,
        ),
        Reference(
            {"deviation, Euler ÷ data": 0.922010440, "deviation, Heun ÷ data": 1.012213953},
            {"steps": 36},
            rtol=1e-8,
        ),
    ],
    "langevin-log-sobolev": [
        Reference({"KL at t": 0.915743854, "bound of KL at t": 1.032583447}),
        Reference({"spectral gap of two wells": 0.0024803984}, rtol=1e-7),
        Reference({"ULA variance": 1 / 0.95}),
    ],
    "memorise-and-speciate": [Reference({"time of speciation": 0.779072309}, rtol=1e-8)],
    "guidance-is-not-tilting": [
        Reference(
            {
                "mean of the guided flow": 1.380172998,
                "variance of the guided flow": 1 / 16,
                "mean of the tilted law": 8 / 7,
                "variance of the tilted law": 1 / 7,
            },
            rtol=1e-6,
        )
    ],
    "autoregressive-dequantised": [
        Reference({"log P(0) of N(0, 1)": -1.074862327, "its bound": -1.085605200}, rtol=1e-8)
    ],
}
