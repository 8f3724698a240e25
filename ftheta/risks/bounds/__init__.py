"""Bounds on the risk of a trained network: exact, uniform, by margins, by a prior."""

from .balls import kl_inverse as kl_inverse
from .margins import frobenius_margin_bound as frobenius_margin_bound
from .margins import spectral_margin_bound as spectral_margin_bound
from .pac_bayes import PacBayes as PacBayes
from .pac_bayes import pac_bayes as pac_bayes
from .table import RiskBound as RiskBound
from .table import RiskBounds as RiskBounds
from .table import risk_bounds as risk_bounds
from .table import stochastic_risk as stochastic_risk
from .uniform import Units as Units
from .uniform import finite_class_radius as finite_class_radius
from .uniform import finite_class_rows as finite_class_rows
from .uniform import growth_radius as growth_radius
from .uniform import vc_radius as vc_radius
from .unseen import bernstein as bernstein
from .unseen import chebyshev as chebyshev
from .unseen import chernoff as chernoff
from .unseen import clopper_pearson as clopper_pearson
from .unseen import empirical_bernstein as empirical_bernstein
from .unseen import hoeffding as hoeffding
