"""Reads an invoice, or says exactly why it must not be written as a row.

`read_document(path)` gets the text of a file, `extract(text)` finds the four
required fields in it with invoice2data and the templates beside this file.
Templates find *quotes*: pieces of the text as they stand there. What a quote
says is decided here, and never from context: not the currency from an address,
not the order of day and month from a country, not one of two totals. (The
library itself would fill in EUR where no currency is found, guess at dates and
read 4,820.00 under a decimal comma as 4.82; none of these answers is used.)

This module knows nothing about jobs.
"""

import datetime
import logging
import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from invoice2data.exceptions import RequiredFieldsMissingError
from invoice2data.extract.loader import read_templates
from invoice2data.input import pdfium, text as plain_text

TEMPLATES = Path(__file__).parent / "templates"
NOT_FOUND = "NOT FOUND"
REQUIRED_FIELDS = ("invoice_number", "invoice_date", "currency", "total")

# A code that is not listed is not recognised, and the invoice refused. Codes that
# are also words in capitals (ALL, TRY, TOP, CUP …) are left out on purpose.
CURRENCY_CODES = frozenset(
    "AED AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW MAD MXN MYR NGN NOK "
    "NZD PHP PLN QAR RON RSD SAR SEK SGD THB TWD UAH USD UYU VND ZAR".split()
)
# What a sign can mean. Only a sign with one meaning states a currency by itself.
CURRENCY_SIGNS = {
    "€": {"EUR"},
    "₹": {"INR"},
    "US$": {"USD"},
    "A$": {"AUD"},
    "AU$": {"AUD"},
    "NZ$": {"NZD"},
    "CA$": {"CAD"},
    "HK$": {"HKD"},
    "$": {"AUD", "BRL", "CAD", "CLP", "COP", "HKD", "MXN", "NZD", "SGD", "TWD", "USD", "UYU"},
    "£": {"GBP", "EGP"},
    "¥": {"CNY", "JPY"},
    "kr": {"DKK", "ISK", "NOK", "SEK"},
}
_SIGN = re.compile(r"(?<![A-Z])(?:US|AU|NZ|CA|HK|A)\$|[€₹$£¥]|\bkr\b")
_CODE = re.compile(r"(?<![A-Za-z])[A-Z]{3}(?![A-Za-z])")
# Digits in groups, no percentage; a minus or brackets around them are kept in sight.
_AMOUNT = r"[(\-−–]?(?<![\d.,])\d(?:[.,{marks}]?\d)*(?![.,]?\d| ?%)[)\-−–]?"
_MARKS = "'’\u00a0\u202f"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})?|\d{1,2} [A-Za-z]+ \d{4}|[A-Za-z]+ \d{1,2}, \d{4}")
_PAGE = re.compile(r"(?i)\b(?:page|seite|blatt)\s+(\d{1,3})\s*(?:of|von|sur|/)\s*(\d{1,3})\b")

log = logging.getLogger("invoice_reader")


class Refusal(Exception):
    """The document must not become a row: reason code, field (or None), quote or NOT FOUND."""

    def __init__(self, reason_code, field=None, evidence=NOT_FOUND):
        super().__init__(f"{reason_code} {field or ''}: {evidence}")
        self.reason_code, self.field, self.evidence = reason_code, field, evidence


@dataclass
class Extraction:
    """Every required field as text, each with the quote that states it."""

    values: dict
    evidence: dict
    template: str


def read_document(path):
    """The text of a PDF or UTF-8 text file. OSError if it cannot be had, Refusal if it is no text."""
    data = Path(path).read_bytes()
    if data.lstrip()[:5] == b"%PDF-":
        text = _pdf_text(path)
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise Refusal("TRUNCATED_OR_UNREADABLE") from None
    text = text.replace("\r\n", "\n")
    if not text.strip() or re.search(r"[\x00-\x08\x0e-\x1f\ufffd]", text):
        raise Refusal("TRUNCATED_OR_UNREADABLE")
    return text


def _pdf_text(path):
    import pypdfium2

    try:
        return pdfium.to_text(str(path))
    except pypdfium2.PdfiumError as error:
        log.info("%s: %s", path, error)
        raise Refusal("TRUNCATED_OR_UNREADABLE") from None


def load_templates(folder=TEMPLATES):
    """The templates, highest priority first."""
    return sorted(read_templates(str(folder)), key=lambda template: -template["priority"])


def extract(text, templates):
    """The required fields of an invoice. Raises Refusal, with a quote that is verbatim in `text`."""
    for template in templates:
        if not template.matches_input(text.casefold()):
            continue
        try:
            found = template.extract(text, "", plain_text)
        except RequiredFieldsMissingError:
            continue  # this layout is another one's after all
        if "other_document" in found:
            raise Refusal("UNSUPPORTED_DOCUMENT", None, _quotes(found, "other_document")[0])
        return _read_fields(text, template, found)
    raise Refusal("UNSUPPORTED_DOCUMENT", None, text.strip().splitlines()[0].strip()[:200])


def _read_fields(text, template, found):
    number, day, amount = (_quotes(found, name) for name in ("invoice_number", "invoice_date", "total"))
    # What the layout itself states about its dates and amounts; the library's defaults are no statement.
    stated = template["options"]
    fields = {
        "invoice_number": _agreed(text, "invoice_number", number, _read_invoice_number),
        "invoice_date": _agreed(text, "invoice_date", day, lambda quote: _read_date(quote, stated["date_formats"])),
        "currency": _read_currency(text, _quotes(found, "currency_stated")),
        "total": _agreed(text, "total", amount, lambda quote: _read_total(quote, stated)),
    }
    _check_pages(text)
    values = {field: value for field, (value, _) in fields.items()}
    evidence = {field: quote for field, (_, quote) in fields.items()}
    assert all(quote in text for quote in evidence.values()), "a quote is not verbatim in the text"
    return Extraction(values, evidence, template["template_name"])


def _quotes(found, name):
    quotes = found.get(name, [])
    return quotes if isinstance(quotes, list) else [quotes]


def _agreed(text, field, quotes, read):
    """The one value that all quotes of a field state, and the first quote that states it."""
    stated = {}
    for quote in quotes:
        value = read(quote)
        if value is not None:
            stated.setdefault(value, quote)
    if not stated:
        raise Refusal("MISSING_REQUIRED_FIELD", field)
    if len(stated) > 1:
        raise Refusal("CONFLICTING_EVIDENCE", field, _span(text, list(stated.values())))
    return next(iter(stated.items()))


def _span(text, quotes):
    """The piece of text that holds all quotes, or the last of them if they lie far apart."""
    start = min(text.index(quote) for quote in quotes)
    end = max(text.index(quote) + len(quote) for quote in quotes)
    return text[start:end] if end - start <= 600 else quotes[-1]


def _read_invoice_number(quote):
    value = quote.split()[-1].lstrip("#:")
    return value if re.search(r"\d", value) else None


def _read_date(quote, formats):
    match = _DATE.search(quote)
    written = match.group() if match else ""
    parsed = {_date(written, form) for form in formats} - {None}
    day_first_stated = any(form[:4] in ("%d.%", "%d/%") for form in formats)
    if not parsed and not day_first_stated:  # to be read only if it can be read in one way
        parsed = {_date(re.sub("[./-]", "/", written), form) for form in ("%d/%m/%Y", "%m/%d/%Y")} - {None}
    if len(parsed) != 1:
        raise Refusal("AMBIGUOUS_VALUE", "invoice_date", quote)
    return parsed.pop().isoformat()


def _date(written, form):
    try:
        return datetime.datetime.strptime(written, form).date()
    except ValueError:
        return None


def _read_currency(text, quotes):
    """The one code that is stated, by itself or by a sign that means nothing else."""
    stated, signs = {}, {}
    for quote in quotes:
        for code in _CODE.findall(quote):
            if code in CURRENCY_CODES:
                stated.setdefault(code, quote)
        for sign in _SIGN.findall(quote):
            signs.setdefault(sign, quote)
            if len(CURRENCY_SIGNS[sign]) == 1:
                stated.setdefault(*CURRENCY_SIGNS[sign], quote)
    if not stated and signs:
        raise Refusal("AMBIGUOUS_VALUE", "currency", next(iter(signs.values())))
    if not stated:
        raise Refusal("MISSING_REQUIRED_FIELD", "currency")
    code = next(iter(stated))
    against = [quote for sign, quote in signs.items() if code not in CURRENCY_SIGNS[sign]]
    if len(stated) > 1 or against:
        raise Refusal("CONFLICTING_EVIDENCE", "currency", _span(text, list(stated.values()) + against))
    return code, stated[code]


def _read_total(quote, stated):
    marks = _MARKS + stated.get("group_separator", "")
    amounts = re.findall(_AMOUNT.format(marks=marks), quote)
    if "decimal_separator" in stated:
        readings = {_decimal(amount, stated["decimal_separator"], r"\d\d", marks) for amount in amounts} - {None}
    else:  # 4.820 may be either
        readings = {_decimal(amount, mark, r"\d{2,3}", marks) for amount in amounts for mark in ",."} - {None}
    if len(amounts) != 1 or len(readings) != 1:  # "100.00 within 30 days" has two numbers
        raise Refusal("AMBIGUOUS_VALUE", "total", quote)
    return str(readings.pop())


def _decimal(amount, separator, decimals, marks):
    """The amount, if under that decimal separator it is well formed and not negative."""
    marks = f".,{marks}".replace(separator, "")
    groups = rf"\d{{1,3}}(?:(?P<mark>[{marks}])\d\d\d(?:(?P=mark)\d\d\d)*)?|\d+"
    match = re.fullmatch(rf"(?P<whole>{groups})(?:{re.escape(separator)}(?P<rest>{decimals}))?", amount)
    if not match:
        return None
    return Decimal(re.sub(r"\D", "", match["whole"]) + "." + (match["rest"] or "00"))


def _check_pages(text):
    """Refuses a text that says itself that pages are missing."""
    marks = list(_PAGE.finditer(text))
    if not marks:
        return
    pages, last = {int(mark[1]) for mark in marks}, max(int(mark[2]) for mark in marks)
    if not pages.issuperset(range(1, last + 1)):
        raise Refusal("TRUNCATED_OR_UNREADABLE", None, marks[-1].group())
