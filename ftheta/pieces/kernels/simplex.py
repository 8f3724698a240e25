r"""A small dense simplex method for cells of a box, compiled.

A cell is $\{x:\ a\le x\le b,\ g_i(x)\ge0\}$ with few rows $g_i$. Every variable (a coordinate, or the slack $g_i(x)$ of
a row) is measured from one of its bounds by some $t\ge0$, so that a coordinate has $0\le t\le b-a$, a slack $t\ge0$. A
dictionary writes the $t$ of `rows` basic variables as affine functions of those of $n$ nonbasic ones,
$$t_i=\beta_i+\sum_qT_{iq}t_q,\qquad t_q=0\text{ at the vertex},$$
so that the box costs no rows. It survives from a cell to its parts: a part has one row more, and a vertex in common.

Nothing here is trusted: what a dictionary suggests (a point, multipliers) is checked elsewhere, from the rows.
"""

from math import inf

from ftheta.loops import inner, outlined

OPTIMAL, CROSSED, STUCK = range(3)
NEGLIGIBLE = 1e-9  # entries below are no pivots; rows are scaled to size one


@inner(fastmath={"contract"})
def pivot(table, rows, r, q):
    """Exchange the basic variable of row `r` with the nonbasic one of column `q`."""
    row = table[r]
    columns = row.shape[0]
    inverse = 1.0 / row[q]
    for j in range(columns):
        row[j] *= -inverse
    row[q] = inverse
    for i in range(rows):
        if i != r:
            other = table[i]
            factor = other[q]
            if factor != 0.0:
                other[q] = 0.0
                for j in range(columns):
                    other[j] += factor * row[j]


@inner()
def exchange(table, rows, basic, nonbasic, r, q):
    """Pivot: the variable of row `r` leaves the basis, that of column `q` enters."""
    pivot(table, rows, r, q)
    basic[r], nonbasic[q] = nonbasic[q], basic[r]


@inner()
def flip_row(table, r, basic, flipped, width):
    """Measure the basic coordinate of a row from its other bound."""
    v = basic[r]
    n = table.shape[1] - 1
    for j in range(n + 1):
        table[r, j] = -table[r, j]
    table[r, n] += width[v]
    flipped[v] = 1 - flipped[v]


@inner()
def flip_column(table, rows, q, nonbasic, flipped, width):
    """Move the nonbasic coordinate of a column to its other bound."""
    v = nonbasic[q]
    n = table.shape[1] - 1
    for i in range(rows):
        table[i, n] += table[i, q] * width[v]
        table[i, q] = -table[i, q]
    flipped[v] = 1 - flipped[v]


@inner(fastmath={"contract"})
def load(table, rows, basic, nonbasic, flipped, low, high, form):
    """Write an affine form into the row below the dictionary's, in terms of the nonbasic variables."""
    n = table.shape[1] - 1
    line = table[rows]
    constant = form[n]
    for q in range(n):
        v = nonbasic[q]
        line[q] = 0.0
        if v < n:
            line[q] = -form[v] if flipped[v] else form[v]
            constant += form[v] * (high[v] if flipped[v] else low[v])
    line[n] = 0.0
    for i in range(rows):
        v = basic[i]
        if v < n:
            constant += form[v] * (high[v] if flipped[v] else low[v])
            factor = -form[v] if flipped[v] else form[v]
            source = table[i]
            for j in range(n + 1):
                line[j] += factor * source[j]
    line[n] += constant


@inner()
def entering(line, nonbasic, bland, tolerance):
    """The steepest column that lowers the form, or the first by number (which never cycles)."""
    chosen = -1
    least = -tolerance
    for q in range(nonbasic.shape[0]):
        if line[q] < least and not (bland and chosen >= 0 and nonbasic[q] > nonbasic[chosen]):
            chosen = q
            least = -tolerance if bland else line[q]
    return chosen


@inner()
def leaving(table, rows, basic, width, q, limit):
    """The row that stops column `q` first, how far it lets it go, and whether it ends at its upper bound."""
    n = table.shape[1] - 1
    chosen = -1
    upper = False
    step = limit
    size = 0.0
    for i in range(rows):
        a = table[i, q]
        if a < -NEGLIGIBLE:
            ratio = max(table[i, n], 0.0) / -a
        elif a > NEGLIGIBLE and basic[i] < n:
            ratio = max(width[basic[i]] - table[i, n], 0.0) / a
        else:
            continue
        if ratio < step or (ratio == step and abs(a) > size):
            chosen = i
            upper = a > 0.0
            step = ratio
            size = abs(a)
    return chosen, upper, step


@outlined()
def minimise(table, rows, basic, nonbasic, flipped, width, goal):
    """Lower the form in the row below the dictionary; stop before the step that takes it below `goal`.

    Returns why it ended, the column and length of that last step (no column if it was below from the start), and the
    number of pivots.
    """
    n = table.shape[1] - 1
    line = table[rows]
    if line[n] < goal:
        return CROSSED, -1, 0.0, 0
    scale = 0.0
    for q in range(n):
        scale = max(scale, abs(line[q]))
    most = 60 + 8 * (rows + n)
    for count in range(most):
        q = entering(line, nonbasic, 2 * count > most, 1e-12 * scale)
        if q < 0:
            return OPTIMAL, -1, 0.0, count
        v = nonbasic[q]
        r, upper, step = leaving(table, rows, basic, width, q, width[v] if v < n else inf)
        if step == inf:
            return STUCK, -1, 0.0, count
        if line[n] + step * line[q] < goal:
            return CROSSED, q, step, count
        if r < 0:
            flip_column(table, rows + 1, q, nonbasic, flipped, width)
            continue
        if upper:
            flip_row(table, r, basic, flipped, width)
        exchange(table, rows + 1, basic, nonbasic, r, q)
    return STUCK, -1, 0.0, most


@inner()
def vertex(table, rows, basic, nonbasic, flipped, low, high, q, step, point):
    """The vertex of a dictionary, moved by `step` along column `q` if there is one."""
    n = table.shape[1] - 1
    for j in range(n):
        v = nonbasic[j]
        if v < n:
            t = step if j == q else 0.0
            point[v] = high[v] - t if flipped[v] else low[v] + t
    for i in range(rows):
        v = basic[i]
        if v < n:
            t = table[i, n] + (step * table[i, q] if q >= 0 else 0.0)
            point[v] = high[v] - t if flipped[v] else low[v] + t


@outlined()
def rebuild(table, rows, basic, nonbasic, flipped, low, high, width, given, wanted, room):
    """The same dictionary computed afresh from the rows: rounding errors of many pivots are forgotten."""
    n = table.shape[1] - 1
    for v in range(n + rows):
        wanted[v] = 0
    for q in range(n):
        wanted[nonbasic[q]] = 1
    for q in range(n):
        nonbasic[q] = q
    for i in range(rows):
        basic[i] = n + i
        for j in range(n + 1):
            room[j] = given[i, j]
        load(table[i:], 0, basic, nonbasic, flipped, low, high, room)
    while True:
        r = -1
        s = -1
        size = 0.0
        for i in range(rows):
            if basic[i] >= n and wanted[basic[i]]:
                for q in range(n):
                    if nonbasic[q] < n and not wanted[nonbasic[q]] and abs(table[i, q]) > size:
                        r = i
                        s = q
                        size = abs(table[i, q])
        if size < 1e-13:
            return
        exchange(table, rows, basic, nonbasic, r, s)
