"""Writes the PDF invoices of this folder: `python make_pdfs.py`.

The files are committed; this is how they were made. A PDF needs little when it
is plain text in a built-in font, so there is no library here.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
PAGE = b"/Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >>"

DE_COMPLETE = [
    """KELLER FLUIDTECHNIK GMBH
Industriestraße 14, 44805 Bochum

RECHNUNG Nr. 2025-0388
Rechnung an: Southern Cross Shipfitters Pty Ltd
             12 Wharf Lane, Sydney NSW 2000
Datum: 03.09.2025

Pos  Artikel                      Menge      Betrag
1    Proportionalventil PV-31         4    3.900,00
2    Seefracht                        1      920,00

Gesamtbetrag:                              4.820,00

-- Seite 1 von 2 --""",
    """KELLER FLUIDTECHNIK GMBH

Steuerfreie Ausfuhrlieferung, MwSt. 0 %
Gesamtbetrag inkl. MwSt. EUR               4.820,00

Zahlbar innerhalb von 30 Tagen.
Bankverbindung: Sparkasse Bochum

-- Seite 2 von 2 --""",
]

US = [
    """Prairie Data Centers, Inc.
INVOICE

Invoice # PDC-88213
Invoice date: 11/28/2025
Bill to: Wattle & Sons Electrical, Brisbane QLD

Rack space, November
Remote hands, 2.5 h

Amount due: US$2,310.50""",
]

GB = [
    """Pennine Instruments Ltd
Invoice

Invoice no. PI/2025/0773        Customer 40018
Invoice date 9 October 2025     Terms 30 days

Calibration of four gauges
Currency: GBP
Balance due                                 £1,148.40
Page 1 of 1""",
]


def pdf(pages):
    """The bytes of a PDF with one text page per string."""
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>"
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(), font]
    for n, page in enumerate(pages):
        content = _content(page)
        objects.append(b"<< %s /Contents %d 0 R >>" % (PAGE, 5 + 2 * n))
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    out, offsets = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def _content(page):
    lines = []
    for line in page.splitlines():
        escaped = line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        lines.append(b"(" + escaped.encode("cp1252") + b") Tj T*")
    return b"BT /F1 10 Tf 13 TL 56 780 Td\n" + b"\n".join(lines) + b"\nET"


def main():
    """Writes all files."""
    complete = pdf(DE_COMPLETE)
    (FOLDER / "de-complete.pdf").write_bytes(complete)
    (FOLDER / "us-invoice.pdf").write_bytes(pdf(US))
    (FOLDER / "gb-invoice.pdf").write_bytes(pdf(GB))
    # An upload that broke off.
    (FOLDER / "cut-off.pdf").write_bytes(complete[:400])
    # A scan: a page with nothing that is text.
    (FOLDER / "scan-without-text.pdf").write_bytes(pdf([""]))


if __name__ == "__main__":
    main()
