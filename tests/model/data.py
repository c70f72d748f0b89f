#!/usr/bin/python3
"""data.py - the data files of the model questions, made anew and always the same (own generator, no library's), into a folder.

  /usr/bin/python3 tests/model/data.py FOLDER
"""
import datetime
import json
import os
import sys
import zipfile


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


# -- of the second twenty

def clinic(folder):
    """Semicolons, decimal commas, day first, a few amounts missing."""
    r = Numbers(211)
    lines = ["Datum;Abteilung;Arzt;Dauer_min;Betrag"]
    for i in range(1400):
        date = day(r.below(366))
        amount = "" if r.below(60) == 0 else comma(2000 + r.below(40000))
        lines.append("%s;%s;%s;%d;%s" % (date.strftime("%d.%m.%Y"), r.pick(["Chirurgie", "Innere", "Augen", "HNO"]),
                                         r.pick(["Adam", "Brandt", "Conrad", "Dietz", "Ebert"]), 5 + r.below(55), amount))
    write(folder, "clinic.csv", lines)


def meters(folder):
    """Nested three deep; the readings are the leaves."""
    r = Numbers(212)
    out = []
    for i in range(9):
        readings = [{"day": str(day(n)), "kwh": (20 + r.below(300)) / 10, "estimated": r.below(12) == 0} for n in range(366)]
        out.append({"id": "M%02d" % (i + 1), "location": {"building": r.pick(["Mill", "Barn", "Tower"]), "floor": r.below(4)},
                    "readings": readings})
    with open(os.path.join(folder, "meters.json"), "w", encoding="utf-8") as f:
        json.dump({"operator": "Town works", "unit": "kWh", "meters": out}, f)


def school(folder):
    """Objects whose keys are data."""
    r = Numbers(213)
    classes = {}
    for name in ("5a", "5b", "6a", "6b"):
        pupils = [{"name": "Pupil %s-%02d" % (name, i), "marks": {s: 1 + r.below(6) for s in ("maths", "physics", "english")}}
                  for i in range(22 + r.below(6))]
        classes[name] = {"teacher": r.pick(["Ms Hall", "Mr Reed", "Ms Ford"]), "pupils": pupils}
    with open(os.path.join(folder, "school.json"), "w", encoding="utf-8") as f:
        json.dump({"year": 2024, "classes": classes}, f, indent=1)


def sheet_xml(rows):
    out = []
    for n, row in enumerate(rows, 1):
        cells = []
        for k, value in enumerate(row):
            at = "%s%d" % (chr(65 + k), n)
            if isinstance(value, datetime.date):
                cells.append('<c r="%s" s="1"><v>%d</v></c>' % (at, (value - datetime.date(1899, 12, 30)).days))
            elif isinstance(value, str):
                cells.append('<c r="%s" t="inlineStr"><is><t>%s</t></is></c>' % (at, value))
            else:
                cells.append('<c r="%s"><v>%s</v></c>' % (at, value))
        out.append('<row r="%d">%s</row>' % (n, "".join(cells)))
    return '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>%s</sheetData></worksheet>' % "".join(out)


def workbook(path, sheets):
    """The least that a workbook needs; only the standard library is sure to be here."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    numbers = range(1, len(sheets) + 1)
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml."
    parts = {
        "[Content_Types].xml": '<Types xmlns="%s/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
                               'relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="%ssheet.main+xml"/><Override '
                               'PartName="/xl/styles.xml" ContentType="%sstyles+xml"/>%s</Types>' % (package, kind, kind, "".join(
                                   '<Override PartName="/xl/worksheets/sheet%d.xml" ContentType="%sworksheet+xml"/>' % (n, kind) for n in numbers)),
        "_rels/.rels": '<Relationships xmlns="%s/relationships"><Relationship Id="r1" Type="%s/officeDocument" Target="xl/workbook.xml"/>'
                       '</Relationships>' % (package, office),
        "xl/workbook.xml": '<workbook xmlns="%s" xmlns:r="%s"><sheets>%s</sheets></workbook>' % (main, office, "".join(
            '<sheet name="%s" sheetId="%d" r:id="r%d"/>' % (name, n, n) for n, name in zip(numbers, sheets))),
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="%s/relationships">%s<Relationship Id="rs" Type="%s/styles" Target="styles.xml"/>'
                                      '</Relationships>' % (package, "".join(
                                          '<Relationship Id="r%d" Type="%s/worksheet" Target="worksheets/sheet%d.xml"/>' % (n, office, n)
                                          for n in numbers), office),
        "xl/styles.xml": '<styleSheet xmlns="%s"><fonts count="1"><font/></fonts><fills count="1"><fill><patternFill/></fill></fills><borders count="1"><border/>'
                         '</borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="2"><xf/><xf numFmtId="14" applyNumberFormat="1"/>'
                         '</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>' % main,
    }
    for n, rows in zip(numbers, sheets.values()):
        parts["xl/worksheets/sheet%d.xml" % n] = sheet_xml(rows)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, text in parts.items():
            z.writestr(name, '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>' + text)


def shop(folder):
    """Two sheets that share a column."""
    r = Numbers(216)
    orders = [["order", "customer_no", "date", "amount"]]
    for i in range(420):
        orders.append([5000 + i, 100 + r.below(37), day(r.below(366)), (500 + r.below(90000)) / 100])
    customers = [["customer_no", "name", "country"]]
    for i in range(40):
        customers.append([100 + i, "Customer %02d" % i, r.pick(["Norway", "Spain", "Poland", "Ireland"])])
    workbook(os.path.join(folder, "shop.xlsx"), {"Orders": orders, "Customers": customers})


def events(folder):
    """Dates as a person writes them."""
    r = Numbers(215)
    lines = ["event,date,visitors,place"]
    for i in range(240):
        date = day(r.below(365), datetime.date(2023, 1, 1))
        lines.append('E%03d,"%s %d, %d",%d,%s' % (i, date.strftime("%b"), date.day, date.year, 30 + r.below(900), r.pick(["hall", "park", "club"])))
    write(folder, "events.csv", lines)


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


def depots(folder):
    """Nested three deep: depots, their vehicles, and what these drove."""
    r = Numbers(106)
    out = []
    for name, city in (("North", "Lund"), ("Harbour", "Malmo"), ("Hill", "Ystad")):
        vehicles = []
        for i in range(4 + r.below(4)):
            trips = [{"date": str(day(r.below(200))), "km": 5 + r.below(240), "fuel_l": (10 + r.below(300)) / 10} for _ in range(20 + r.below(30))]
            vehicles.append({"plate": "%s-%03d" % (city[:2].upper(), 100 + r.below(900)), "kind": r.pick(["van", "truck", "car"]), "trips": trips})
        out.append({"name": name, "city": city, "vehicles": vehicles})
    with open(os.path.join(folder, "depots.json"), "w", encoding="utf-8") as f:
        json.dump({"company": "Parcels", "depots": out}, f)


def recipes(folder):
    """Objects whose keys are data, two levels of them."""
    r = Numbers(107)
    out = {}
    for name in ("Pancakes", "Tomato soup", "Apple pie", "Lasagne", "Scones", "Risotto", "Pizza", "Quiche", "Waffles", "Dumplings", "Brownies", "Stew"):
        ingredients = {s: 10 * (1 + r.below(60)) for s in ("flour", "butter", "milk", "cheese", "sugar", "onion") if r.below(2)}
        out[name] = {"minutes": 15 + r.below(120), "serves": 2 + r.below(6), "ingredients": ingredients or {"salt": 5}}
    with open(os.path.join(folder, "recipes.json"), "w", encoding="utf-8") as f:
        json.dump({"cook": "Ada", "recipes": out}, f, indent=1)


def projects(folder):
    """Two sheets that share a column."""
    r = Numbers(108)
    hours = [["staff_id", "date", "project", "hours"]]
    for _ in range(380):
        hours.append([1 + r.below(21), day(r.below(366)), r.pick(["Bridge", "Tunnel", "Tower"]), (2 + r.below(15)) / 2])
    staff = [["staff_id", "name", "team"]]
    for i in range(26):
        staff.append([1 + i, "Person %02d" % (i + 1), r.pick(["Design", "Build", "Test"])])
    workbook(os.path.join(folder, "projects.xlsx"), {"Hours": hours, "Staff": staff})


def sightings(folder):
    """Dates as a person writes them."""
    r = Numbers(109)
    lines = ["date,species,count,observer"]
    for _ in range(310):
        date = day(r.below(365), datetime.date(2022, 1, 1))
        lines.append("%d %s,%s,%d,%s" % (date.day, date.strftime("%B %Y"), r.pick(["heron", "kite", "tern", "swift"]), 1 + r.below(40),
                                         r.pick(["Ann", "Bo", "Cy"])))
    write(folder, "sightings.csv", lines)


def invoices(folder):
    """Semicolons, decimal commas, points between thousands, day first."""
    r = Numbers(110)
    lines = ["Nr;Kunde;Datum;Netto;Bezahlt"]
    for i in range(640):
        cents = 1500 + r.below(400000)
        euros = "%d.%03d" % (cents // 100000, cents // 100 % 1000) if cents >= 100000 else "%d" % (cents // 100)
        lines.append("%d;%s;%s;%s,%02d;%s" % (7000 + i, r.pick(["Wolf", "Fuchs", "Adler", "Specht"]),
                                              day(r.below(365), datetime.date(2023, 1, 1)).strftime("%d.%m.%Y"), euros, cents % 100,
                                              r.pick(["ja", "ja", "nein"])))
    write(folder, "invoices.csv", lines)


ALL = [sales, weather, orders, staff, clinic, meters, school, shop, events, trips, grades, stock, library, cities,
       depots, recipes, projects, sightings, invoices]


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    for make in ALL:
        make(sys.argv[1])


if __name__ == "__main__":
    main()
