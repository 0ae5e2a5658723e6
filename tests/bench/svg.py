# SPDX-License-Identifier: GPL-2.0 OR MIT
"""A plot as SVG text: lines over two logarithmic axes, one for each stack."""
import html
import math

COLOURS = {"krdma": "#0a6e31", "siw": "#c44e00", "rxe": "#2456a6", "tcp": "#666666"}
WIDTH, HEIGHT = 520, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 70, 28, 44


def decades(low, high):
    """Powers of ten from at most low to at least high."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0 ** e for e in range(first, max(last, first + 1) + 1)]


def position(value, low, high, begin, end):
    if high == low:
        return (begin + end) / 2
    share = (math.log10(value) - math.log10(low)) / (math.log10(high) - math.log10(low))
    return begin + share * (end - begin)


def plot(title, x_name, y_name, series, x_text):
    """series: {stack: [(x, y)]}, all above 0; x_text names a value of x."""
    points = [p for line in series.values() for p in line]
    xs = sorted({x for x, _ in points})
    ticks = decades(min(y for _, y in points), max(y for _, y in points))
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
           f'height="{HEIGHT}" font-family="sans-serif" font-size="11">',
           f'<text x="{LEFT}" y="16" font-size="13" font-weight="bold">{html.escape(title)}</text>']

    def x_of(x):
        return position(x, xs[0], xs[-1], LEFT, right)

    def y_of(y):
        return position(y, ticks[0], ticks[-1], bottom, TOP)

    for tick in ticks:
        y = y_of(tick)
        out.append(f'<line x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
                   f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for x in xs:
        out.append(f'<text x="{x_of(x):.1f}" y="{bottom + 15}" text-anchor="middle" font-size="9">'
                   f'{html.escape(x_text(x))}</text>')
    out.append(f'<text x="{(LEFT + right) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">'
               f'{html.escape(x_name)}</text>'
               f'<text x="14" y="{(TOP + bottom) / 2:.0f}" text-anchor="middle" '
               f'transform="rotate(-90 14 {(TOP + bottom) / 2:.0f})">{html.escape(y_name)}</text>')
    for number, (stack, line) in enumerate(series.items()):
        colour = COLOURS.get(stack, "#000000")
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in sorted(line))
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for x, y in line:
            out.append(f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="2.5" fill="{colour}">'
                       f'<title>{html.escape(stack)} {html.escape(x_text(x))}: {y:.4g}</title></circle>')
        out.append(f'<text x="{right + 10}" y="{TOP + 14 * number + 10}" fill="{colour}">'
                   f'{html.escape(stack)}</text>')
    return "".join(out) + "</svg>"
