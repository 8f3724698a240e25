r"""One row of the question, bounded by lines below and above every ReLU whose slopes are chosen for it.

Back through the layers, a coefficient $a>0$ of an undecided ReLU takes the line $\alpha z$ below it, any
$\alpha\in[0,1]$, and a coefficient $a<0$ the line above it. What is left is affine in the inputs, and least at a corner
of the box, or at a point of the ball. There, the slope of the bound along $\alpha$ is $a\,z$, with $z$ the value that
the lines give the neuron: each $\alpha$ moves towards 1 where $z>0$ and towards 0 elsewhere.
"""

from .arrays import OFF, ON, TINY, UNDECIDED, U, compiled
from .ball_kernels import gain_of_slopes
from .products import add_many_magnitudes, add_rows, apply_layer

ROUNDS = 3  # of choosing slopes


@compiled
def measure_reach(net, lines, lo, hi, scratch):
    r"""For each neuron, $\sum_j|W_{rj}|H_j+|b_r|$ with bounds $H$ of what enters the layer: all that can be summed."""
    reach = scratch.reach
    places = scratch.places
    sizes = scratch.factors
    for k in range(len(net.widths) - 1):
        rows = net.widths[k + 1]
        shift = net.offsets[k]
        for r in range(rows):
            reach[shift + r] = abs(net.biases[shift + r])
        count = 0
        for j in range(net.widths[k]):
            if k > 0 and lines[0, net.offsets[k - 1] + j] == OFF:
                continue
            places[count] = j
            sizes[count] = (
                max(abs(lo[j]), abs(hi[j])) if k == 0 else lines[3, net.offsets[k - 1] + j]
            )
            count += 1
        add_many_magnitudes(net, k, places, sizes, count, reach[shift : shift + rows])


@compiled
def tighten_row(net, rows, s, lo, hi, lines, ball, bounds, scratch):
    """Raise the lower bound of the excess of row `s` over the box, and its slopes, if better lines are found.

    `lines` are those of `enclose_box`, and `scratch.reach` is what `measure_reach` says. What is better takes the place
    of the row's affine form: it is one of the inputs alone.
    """
    hidden = net.offsets[len(net.offsets) - 1]
    for n in range(hidden):
        scratch.lower_slopes[n] = 1.0 if lines[0, n] == UNDECIDED and lines[1, n] > 0.5 else 0.0
    for turn in range(ROUNDS):
        over_box = _bound_from_lines(net, rows, s, lo, hi, lines, scratch)
        value = over_box
        if ball.used[0] > 0:
            for i in range(len(lo)):
                ball.slopes[i] = scratch.form[i]
            gain = gain_of_slopes(ball)
            value = over_box + gain - 4.0 * U * (abs(over_box) + gain)
        if value > bounds.least[s]:
            bounds.least[s] = value
            bounds.box_least[s] = over_box
            _keep_form(s, lo, hi, over_box, scratch.form, bounds)
        if value > 0.0 or turn == ROUNDS - 1:
            break
        _find_lowest(lo, hi, ball, scratch.form, scratch.state)
        _choose_slopes(net, lines, scratch, 1.0 / (turn + 1.5))


@compiled
def _keep_form(s, lo, hi, value, form, bounds):
    r"""Write $v+\sum_i(a_ix_i-\min a_ix_i)$ as an affine function of the generators of the inputs."""
    constant = value
    size = abs(value)
    for g in range(bounds.forms.shape[1]):
        bounds.forms[s, g] = 0.0
    for i in range(len(lo)):
        centre = 0.5 * lo[i] + 0.5 * hi[i]
        radius = max(hi[i] - centre, centre - lo[i])
        bounds.slopes[s, i] = form[i] * radius
        if hi[i] > lo[i]:
            # the generator of `enclose_box`
            bounds.forms[s, i] = form[i] * (radius * (1.0 + 4.0 * U) + TINY)
            constant += abs(bounds.forms[s, i])
            size += abs(form[i]) * (abs(lo[i]) + abs(hi[i])) + abs(bounds.forms[s, i])
    bounds.constants[s] = constant - 8.0 * U * (len(lo) + 8) * size - TINY * (1.0 + size)


@compiled
def _bound_from_lines(net, rows, s, lo, hi, lines, scratch):
    """A lower bound of the excess of row `s`, whose affine form in the inputs is left in `scratch.form`."""
    state = scratch.state
    other = scratch.other
    layers = len(net.widths) - 1
    constant = -rows.bounds[s]
    error = 4.0 * U * abs(constant) + TINY
    size = abs(constant)  # of all terms that are summed
    for r in range(net.widths[layers]):
        state[r] = rows.outputs[s, r]
    for k in range(layers - 1, -1, -1):
        columns = net.widths[k]
        gamma = 4.0 * (net.widths[k + 1] + columns + 32) * U
        for j in range(columns):
            other[j] = 0.0
        count = 0
        for r in range(net.widths[k + 1]):
            a = state[r]
            if a == 0.0:
                continue
            n = net.offsets[k] + r
            constant += a * net.biases[n]
            size += abs(a * net.biases[n])
            error += gamma * abs(a) * scratch.reach[n]
            scratch.places[count] = r
            scratch.factors[count] = a
            count += 1
        add_rows(net, k, scratch.places, scratch.factors, count, other)
        if k == 0:
            break
        for j in range(columns):
            n = net.offsets[k - 1] + j
            a = other[j]
            if lines[0, n] == OFF:
                a = 0.0
            elif lines[0, n] == UNDECIDED:
                scratch.coefficients[n] = a
                if a > 0.0:
                    a *= scratch.lower_slopes[n]
                else:
                    constant += a * lines[2, n]
                    size += abs(a * lines[2, n])
                    a *= lines[1, n]
                error += 4.0 * U * abs(a) * lines[3, n] + TINY
            state[j] = a
    value = constant
    for i in range(len(lo)):
        a = other[i] + rows.inputs[s, i]
        scratch.form[i] = a
        value += a * lo[i] if a > 0.0 else a * hi[i]
        size += (abs(a) + abs(rows.inputs[s, i])) * max(abs(lo[i]), abs(hi[i]))
    terms = len(lo) + len(net.biases) + 32
    error += 4.0 * terms * U * size
    return value - error * (1.0 + 4.0 * terms * U) - TINY


@compiled
def _find_lowest(lo, hi, ball, form, point):
    """Where the bound with the slopes `form` is least: a corner of the box, or the point of the ball that
    `gain_of_slopes` left."""
    for i in range(len(lo)):
        if ball.used[0] > 0:
            point[i] = ball.centre[i] + ball.at[i]
        else:
            point[i] = lo[i] if form[i] > 0.0 else hi[i]


@compiled
def _choose_slopes(net, lines, scratch, step):
    """Move the lower slopes by a step towards what is best at the input `scratch.state`, where the bound is least."""
    state = scratch.state
    other = scratch.other
    for k in range(len(net.widths) - 2):
        rows = net.widths[k + 1]
        apply_layer(net, k, state, other, scratch)
        for r in range(rows):
            n = net.offsets[k] + r
            z = other[r]
            if lines[0, n] == ON:
                state[r] = z
            elif lines[0, n] == OFF:
                state[r] = 0.0
            elif scratch.coefficients[n] > 0.0:
                slope = scratch.lower_slopes[n]
                state[r] = slope * z
                scratch.lower_slopes[n] = slope + step * ((1.0 if z > 0.0 else 0.0) - slope)
            else:
                state[r] = lines[1, n] * z + lines[2, n]


@compiled
def weigh_gaps(net, lo, hi, zonotope, scratch, gaps):
    r"""What each neuron of undecided sign costs the bound of the row that was tightened last, in the order of their
    generators.

    A line above costs most where $z=0$. The line $\alpha z$ below costs nothing where $\alpha$ is best, so that it
    counts as far as it is off at the corner where the bound is least.
    """
    state = scratch.state
    other = scratch.other
    lines = zonotope.lines
    _find_lowest(lo, hi, zonotope.ball, scratch.form, state)
    g = len(lo)
    for k in range(len(net.widths) - 2):
        rows = net.widths[k + 1]
        apply_layer(net, k, state, other, scratch)
        for r in range(rows):
            n = net.offsets[k] + r
            z = other[r]
            if lines[0, n] == ON:
                state[r] = z
            elif lines[0, n] == OFF:
                state[r] = 0.0
            else:
                a = scratch.coefficients[n]
                if a > 0.0:
                    state[r] = scratch.lower_slopes[n] * z
                    gaps[g] = 0.5 * a * (max(z, 0.0) - state[r])
                else:
                    state[r] = lines[1, n] * z + lines[2, n]
                    gaps[g] = -0.5 * a * lines[2, n]
                g += 1
