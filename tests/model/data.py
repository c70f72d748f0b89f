#!/usr/bin/python3
"""data.py - the data files of the model questions, made anew and always the same (own generator, no library's), into a folder.

  /usr/bin/python3 tests/model/data.py FOLDER
"""
import datetime
import json
import os
import sys


class Numbers:
    """A linear congruential generator: the same numbers with every version of Python."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (self.state >> 33) % n

    def pick(self, values):
        return values[self.below(len(values))]


def write(folder, name, lines):
    with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as f:
        f.write("\n".join(lines) + "\n")


def day(n, start=datetime.date(2024, 1, 1)):
    return start + datetime.timedelta(days=n)


def comma(cents):
    return "%d,%02d" % (cents // 100, cents % 100)


# -- of the twenty

def sales(folder):
    """Some thousand rows, ISO dates, a few prices missing."""
    r = Numbers(20)
    lines = ["date,region,product,units,price"]
    for i in range(3600):
        price = "" if r.below(90) == 0 else "%d.%02d" % (4 + r.below(60), r.below(100))
        lines.append("%s,%s,%s,%d,%s" % (day(r.below(366)), r.pick(["north", "south", "east", "west"]),
                                         r.pick(["lamp", "desk", "chair", "shelf", "clock"]), 1 + r.below(20), price))
    write(folder, "sales.csv", lines)


def weather(folder):
    """As spreadsheets of half of Europe write it: semicolons, decimal commas, day first."""
    r = Numbers(7)
    lines = ["Datum;Ort;Temperatur;Niederschlag"]
    for n in range(365):
        date = day(n, datetime.date(2023, 1, 1))
        for place in ("Bremen", "Kassel"):
            season = [2, 3, 7, 10, 15, 18, 20, 19, 15, 11, 6, 3][date.month - 1]
            temperature = season * 10 + r.below(80) - 40
            lines.append("%s;%s;%s%d,%d;%d,%d" % (date.strftime("%d.%m.%Y"), place, "-" if temperature < 0 else "", abs(temperature) // 10,
                                                  abs(temperature) % 10, r.below(12) if r.below(3) == 0 else 0, r.below(10)))
    write(folder, "weather.csv", lines)


def orders(folder):
    r = Numbers(11)
    out = []
    for i in range(120):
        items = [{"article": r.pick(["pen", "ink", "paper", "ruler"]), "quantity": 1 + r.below(9), "price": (50 + r.below(900)) / 100}
                 for _ in range(1 + r.below(4))]
        out.append({"order": 1000 + i, "customer": r.pick(["Abel", "Bianca", "Chen", "Dora"]),
                    "status": r.pick(["paid", "paid", "open", "cancelled"]), "items": items})
    with open(os.path.join(folder, "orders.json"), "w", encoding="utf-8") as f:
        json.dump(out, f, indent=1)


def staff(folder):
    r = Numbers(3)
    lines = ["name,department,salary,hired"]
    for i in range(61):
        lines.append("P%02d,%s,%d,%s" % (i, r.pick(["Research", "Sales", "Support"]), 2800 + 25 * r.below(160),
                                         day(r.below(3000), datetime.date(2014, 1, 1))))
    write(folder, "staff.csv", lines)


# -- of the tuning set

def trips(folder):
    r = Numbers(101)
    lines = ["start;duration_min;distance_km;bike"]
    for i in range(2400):
        moment = datetime.datetime(2023, 4, 1) + datetime.timedelta(minutes=r.below(180 * 24 * 60))
        lines.append("%s;%d;%s;%s" % (moment.strftime("%d.%m.%Y %H:%M"), 3 + r.below(70), comma(30 + r.below(1500)), r.pick(["city", "cargo", "e-bike"])))
    write(folder, "trips.csv", lines)


def grades(folder):
    r = Numbers(102)
    lines = ["student\tsubject\tpoints"]
    for i in range(40):
        for subject in ("maths", "physics", "history"):
            lines.append("S%02d\t%s\t%s" % (i, subject, "" if r.below(15) == 0 else 20 + r.below(81)))
    write(folder, "grades.tsv", lines)


def stock(folder):
    r = Numbers(103)
    lines = ["Date,Close,Volume"]
    price = 10000
    for n in range(500):
        date = day(n, datetime.date(2022, 1, 3))
        if date.weekday() < 5:
            price += r.below(301) - 148
            lines.append("%s,%d.%02d,%d" % (date.strftime("%m/%d/%Y"), price // 100, price % 100, 1000 + r.below(9000)))
    write(folder, "stock.csv", lines)


def library(folder):
    r = Numbers(104)
    books = [{"title": "Book %d" % i, "year": 1950 + r.below(74), "pages": 80 + r.below(700), "language": r.pick(["en", "de", "fr"]),
              "lent": r.below(3) == 0} for i in range(150)]
    with open(os.path.join(folder, "library.json"), "w", encoding="utf-8") as f:
        json.dump({"name": "Town library", "books": books}, f, indent=1)


def cities(folder):
    r = Numbers(105)
    lines = ["city,country,population,area_km2"]
    for i in range(80):
        lines.append("City%02d,%s,%d,%d.%d" % (i, r.pick(["Arland", "Belonia", "Corvia", "Dunmark"]), 20000 + r.below(3000000),
                                               20 + r.below(900), r.below(10)))
    write(folder, "cities.csv", lines)


ALL = [sales, weather, orders, staff, trips, grades, stock, library, cities]


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    for make in ALL:
        make(sys.argv[1])


if __name__ == "__main__":
    main()
