r"""One row of the question, bounded by lines below and above every ReLU whose slopes are chosen for it.

Back through the layers, a coefficient $a>0$ of an undecided ReLU takes the line $\alpha z$ below it, any
$\alpha\in[0,1]$, and a coefficient $a<0$ the line above it. What is left is affine in the inputs, and least at a corner
of the box. There, the slope of the bound along $\alpha$ is $a\,z$, with $z$ the value that the lines give the neuron:
each $\alpha$ moves towards 1 where $z>0$ and towards 0 elsewhere.
"""

from .zonotopes import OFF, ON, TINY, U, _compiled

ROUNDS = 3  # of choosing slopes


@_compiled
def measure_reach(magnitudes, biases, widths, starts, offsets, lines, lo, hi, reach):
    r"""For each neuron, $\sum_j|W_{rj}|H_j+|b_r|$ with bounds $H$ of what enters the layer: all that can be summed."""
    layers = len(widths) - 1
    for k in range(layers):
        rows = widths[k + 1]
        shift = offsets[k]
        for r in range(rows):
            reach[shift + r] = abs(biases[shift + r])
        for j in range(widths[k]):
            size = max(abs(lo[j]), abs(hi[j]))
            if k > 0:
                n = offsets[k - 1] + j
                size = 0.0 if lines[0, n] == OFF else lines[3, n]
            if size != 0.0:
                at = starts[k] + j * rows
                for r in range(rows):
                    reach[shift + r] += size * magnitudes[at + r]


@_compiled
def tighten_row(
    matrices,
    weights,
    biases,
    widths,
    starts,
    offsets,
    lines,
    reach,
    input_row,
    output_row,
    bound,
    lo,
    hi,
    state,
    other,
    lower_slopes,
    passing,
    form,
    slopes,
    least,
    row,
):
    """Raise `least[row]`, the lower bound of the excess over the box, and its `slopes`, if better lines are found.

    `matrices` and `weights` are the matrices and their transposes, `lines` those of `enclose_box`, `reach` what
    `measure_reach` says; `lower_slopes` and `passing` (coefficients of the neurons) have room for all neurons, `state`
    and `other` for a layer, `form` for the inputs.
    """
    inputs = widths[0]
    layers = len(widths) - 1
    neurons = offsets[layers - 1]
    for n in range(neurons):
        lower_slopes[n] = 1.0 if lines[1, n] > 0.5 else 0.0
    for turn in range(ROUNDS):
        # back to the inputs: the excess is at least ⟨form, x⟩ + constant − error
        constant = -bound
        error = 4.0 * U * abs(bound) + TINY
        for r in range(widths[layers]):
            state[r] = output_row[r]
        for k in range(layers - 1, -1, -1):
            rows = widths[k + 1]
            columns = widths[k]
            gamma = 4.0 * (rows + columns + 32) * U
            for j in range(columns):
                other[j] = 0.0
            for r in range(rows):
                a = state[r]
                if a == 0.0:
                    continue
                n = offsets[k] + r
                constant += a * biases[n]
                error += gamma * abs(a) * reach[n]
                at = starts[k] + r * columns
                for j in range(columns):
                    other[j] += a * matrices[at + j]
            if k == 0:
                for j in range(columns):
                    state[j] = other[j]
                break
            for j in range(columns):
                n = offsets[k - 1] + j
                a = other[j]
                if lines[0, n] == OFF:
                    a = 0.0
                elif lines[0, n] != ON:
                    passing[n] = a
                    if a > 0.0:
                        a *= lower_slopes[n]
                    else:
                        constant += a * lines[2, n]
                        error += 4.0 * U * abs(a * lines[2, n])
                        a *= lines[1, n]
                    error += 4.0 * U * abs(a) * lines[3, n]
                state[j] = a
        value = constant
        size = abs(constant)
        for i in range(inputs):
            a = state[i] + input_row[i]
            form[i] = a
            edge = lo[i] if a > 0.0 else hi[i]
            value += a * edge
            size += (abs(a) + abs(input_row[i])) * max(abs(lo[i]), abs(hi[i]))
        error += 4.0 * (inputs + neurons + 32) * U * size
        value -= error * (1.0 + 4.0 * (neurons + 32) * U)
        if value > least[row]:
            least[row] = value
            for i in range(inputs):
                centre = 0.5 * lo[i] + 0.5 * hi[i]
                slopes[row, i] = form[i] * max(hi[i] - centre, centre - lo[i])
        if value > 0.0 or turn == ROUNDS - 1:
            break
        # what the lines give every neuron at the corner
        step = 1.0 / (turn + 1.5)
        for i in range(inputs):
            state[i] = lo[i] if form[i] > 0.0 else hi[i]
        for k in range(layers - 1):
            rows = widths[k + 1]
            for r in range(rows):
                other[r] = biases[offsets[k] + r]
            for j in range(widths[k]):
                h = state[j]
                if h != 0.0:
                    at = starts[k] + j * rows
                    for r in range(rows):
                        other[r] += h * weights[at + r]
            for r in range(rows):
                n = offsets[k] + r
                z = other[r]
                if lines[0, n] == OFF:
                    z = 0.0
                elif lines[0, n] != ON:
                    if passing[n] > 0.0:
                        old = lower_slopes[n]
                        lower_slopes[n] += step * ((1.0 if z > 0.0 else 0.0) - old)
                        z *= old
                    else:
                        z = lines[1, n] * z + lines[2, n]
                state[r] = z
