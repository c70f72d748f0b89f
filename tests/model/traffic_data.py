"""traffic_data.py - the question of two agents: a table of accidents, and what stands in it."""
import random

QUESTION = "Which factors go with more accidents? Plot the strongest"


def traffic_data(rows=8000):
    """Accidents rise with rain most of all, a little with traffic, and not with the weekday."""
    rng = random.Random(14)
    lines = ["date,weekday,rain_mm,temperature,vehicles,accidents"]
    for i in range(rows):
        rain, temperature, vehicles = max(0, rng.gauss(2, 4)), rng.gauss(12, 8), rng.randint(500, 5000)
        lines.append("2023-%02d-%02d,%d,%.1f,%.1f,%d,%d" % (i % 12 + 1, i % 28 + 1, i % 7, rain, temperature, vehicles, max(
            0, round(2 + 1.5 * rain + vehicles / 2000 - temperature / 40 + rng.gauss(0, 2)))))
    return "\n".join(lines) + "\n"
