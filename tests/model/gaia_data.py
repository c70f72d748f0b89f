#!/usr/bin/python3
"""gaia_data.py FOLDER - makes the files that gaia.json asks about: workbooks, images, PDFs, JSON, archives. The same bytes every time, with the
standard library alone."""
import json
import os
import struct
import sys
import zipfile
import zlib

DATE = (2024, 1, 1, 0, 0, 0)


def put(archive, name, data):
    info = zipfile.ZipInfo(name, DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, data)


def cell(column, row, value):
    at = "%s%d" % (chr(65 + column), row)
    if isinstance(value, str):
        return '<c r="%s" t="inlineStr"><is><t>%s</t></is></c>' % (at, value)
    return '<c r="%s"><v>%s</v></c>' % (at, value)


def workbook(path, sheets):
    """sheets: (name, rows)."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/"
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml."
    numbers = range(1, len(sheets) + 1)
    with zipfile.ZipFile(path, "w") as z:
        put(z, "[Content_Types].xml", head + '<Types xmlns="%scontent-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
            'relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="%ssheet.main+xml"/>%s</Types>' % (package, kind, "".join(
                '<Override PartName="/xl/worksheets/sheet%d.xml" ContentType="%sworksheet+xml"/>' % (n, kind) for n in numbers)))
        put(z, "_rels/.rels", head + '<Relationships xmlns="%srelationships"><Relationship Id="rId1" Type="%s/officeDocument" Target="xl/workbook.xml"/>'
            '</Relationships>' % (package, office))
        put(z, "xl/workbook.xml", head + '<workbook xmlns="%s" xmlns:r="%s"><sheets>%s</sheets></workbook>' % (main, office, "".join(
            '<sheet name="%s" sheetId="%d" r:id="rId%d"/>' % (name, n, n) for n, (name, _) in zip(numbers, sheets))))
        put(z, "xl/_rels/workbook.xml.rels", head + '<Relationships xmlns="%srelationships">%s</Relationships>' % (package, "".join(
            '<Relationship Id="rId%d" Type="%s/worksheet" Target="worksheets/sheet%d.xml"/>' % (n, office, n) for n in numbers)))
        for n, (_, rows) in zip(numbers, sheets):
            body = "".join('<row r="%d">%s</row>' % (r, "".join(cell(c, r, v) for c, v in enumerate(row))) for r, row in enumerate(rows, 1))
            put(z, "xl/worksheets/sheet%d.xml" % n, head + '<worksheet xmlns="%s"><sheetData>%s</sheetData></worksheet>' % (main, body))


def png(path, width, height, pixel):
    rows = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(width)) for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows))
                + chunk(b"IEND", b""))


def pdf(path, pages):
    """pages: lists of lines. Their text is in deflated streams."""
    kids = " ".join("%d 0 R" % (4 + 2 * i) for i in range(len(pages)))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", ("<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages))).encode(),
               b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    for i, lines in enumerate(pages):
        text = "BT /F1 12 Tf 14 TL 72 760 Td " + " ".join("(%s) Tj T*" % s.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)") for s in lines) + " ET"
        data = zlib.compress(text.encode("latin-1"))
        objects.append(("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * i)).encode())
        objects.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n" % len(data) + data + b"\nendstream")
    out, places = b"%PDF-1.4\n", []
    for n, o in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n" % n + o + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % p for p in places)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, out.index(b"xref"))
    with open(path, "wb") as f:
        f.write(out)


def main(folder):
    def at(name):
        return os.path.join(folder, name)
    lamps = [("January", "Lamp", 12, 49.5), ("January", "Chair", 7, 80), ("February", "Lamp", 9, 49.5), ("March", "Lamp", 21, 45), ("March", "Chair", 3, 82.5)]
    workbook(at("orders.xlsx"), [("North", [("month", "product", "pieces", "price"), *lamps]),
                                 ("South", [("month", "product", "pieces", "price"), ("January", "Lamp", 40, 49.5), ("March", "Chair", 11, 80)])])
    hours = [("Ines", 38.5, 41, 36), ("Tomas", 40, 40, 44.5), ("Priya", 32, 45, 47), ("Olaf", 39, 39, 39)]
    workbook(at("hours.xlsx"), [("2024", [("name", "week 1", "week 2", "week 3"), *hours])])
    png(at("banner.png"), 137, 59, lambda x, y: (x, 2 * y, 90))
    png(at("flag.png"), 60, 40, lambda x, y: (200, 16, 46) if 20 <= x < 28 or 16 <= y < 24 else (255, 255, 255))
    pdf(at("invoice.pdf"), [["Invoice 2024-117", "Harbour Books, Leith", "Atlas of Winds   3 x 27.40", "Tide Tables 2024   5 x 9.90", "Postage   6.35",
                             "(all prices in pounds)"]])
    pdf(at("minutes.pdf"), [["Minutes of the allotment society", "Present: 14 members", "The treasurer reported 1,204.50 in the account."],
                            ["The pump is to be repaired by Mr. Okafor.", "Cost: at most 380.00"],
                            ["The next meeting is on 11 June.", "Motion to buy a shredder: 9 for, 4 against, 1 abstained."]])
    with open(at("episodes.json"), "w", encoding="utf-8") as f:
        json.dump({"podcast": "Night Trains", "seasons": [
            {"season": 1, "episodes": [{"title": "Malmo", "host": "Ada", "minutes": 41}, {"title": "Trieste", "host": "Ben", "minutes": 38}]},
            {"season": 2, "episodes": [{"title": "Narvik", "host": "Ada", "minutes": 52}, {"title": "Lisbon", "host": "Ada", "minutes": 47},
                                       {"title": "Kyiv", "host": "Ben", "minutes": 59}]}]}, f, indent=1)
    with open(at("network.json"), "w", encoding="utf-8") as f:
        json.dump({"nodes": [{"id": n, "links": to} for n, to in (("a", ["b", "c"]), ("b", ["d"]), ("c", ["d", "e"]), ("d", ["f"]), ("e", ["f"]), ("f", []))]}, f)
    with zipfile.ZipFile(at("poems.zip"), "w") as z:
        put(z, "spring/rain.txt", "soft rain on slate\nand the gutter sings\n")
        put(z, "spring/heron.txt", "one leg in the tide\nthe heron counts slow fish\nand does not hurry\n")
        put(z, "autumn/leaves.txt", "leaf by leaf the path\nforgets where it went\n")
        put(z, "README.md", "Three poems.\n")
    with zipfile.ZipFile(at("readings.zip"), "w") as z:
        for day, values in (("mon", (3, 8, 5)), ("tue", (11, 2, 6)), ("wed", (7, 7, 9))):
            put(z, "%s.csv" % day, "hour,level\n" + "".join("%d,%d\n" % pair for pair in zip((6, 12, 18), values)))


if __name__ == "__main__":
    main(sys.argv[1])
