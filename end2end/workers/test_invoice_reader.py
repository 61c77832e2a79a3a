"""Reading invoices, without a server: every sample file, then every way to go wrong."""

import logging
import unittest

from enqueue_invoices import INVOICES, list_samples
from invoice_reader import NOT_FOUND, REQUIRED_FIELDS, Refusal, extract, load_templates, read_document

logging.getLogger("invoice2data").setLevel(logging.CRITICAL)
TEMPLATES = load_templates()

DE = "RECHNUNG Nr. 7\nSydney NSW\nDatum: {date}\nGesamtbetrag: {total}\n"
AU = "TAX INVOICE\nABN 1\nInvoice no: A-7\nDate of issue: {date}\nTotal payable {total}\n"
EN = "INVOICE\nInvoice no: B-7\nDate: {date}\nTotal due {total}\n"


def refusal_of(text):
    try:
        found = extract(text, TEMPLATES)
    except Refusal as refusal:
        assert refusal.evidence == NOT_FOUND or refusal.evidence in text, refusal.evidence
        return refusal.reason_code, refusal.field
    return found.values


class Samples(unittest.TestCase):
    def test_every_sample_file_is_read_or_refused_as_listed(self):
        for sample in list_samples():
            if "failed" in sample:
                continue
            with self.subTest(sample["file"]):
                self.assertEqual(self.answer(sample["file"]), sample.get("done") or sample["refused"])

    def test_every_file_of_the_folder_is_listed(self):
        files = {path.name for path in INVOICES.iterdir() if path.suffix in (".txt", ".pdf")}
        self.assertEqual(files - {sample["file"] for sample in list_samples()}, set())

    def test_quotes_are_verbatim_and_only_what_was_asked(self):
        for sample in list_samples():
            if "done" not in sample:
                continue
            with self.subTest(sample["file"]):
                text = read_document(INVOICES / sample["file"])
                found = extract(text, TEMPLATES)
                self.assertEqual(tuple(found.values), REQUIRED_FIELDS)
                self.assertEqual(tuple(found.evidence), REQUIRED_FIELDS)
                for quote in found.evidence.values():
                    self.assertIn(quote, text)

    def answer(self, file):
        try:
            return extract(read_document(INVOICES / file), TEMPLATES).values
        except Refusal as refusal:
            return {"reason_code": refusal.reason_code, "field": refusal.field, "evidence": refusal.evidence}


class Currency(unittest.TestCase):
    def test_is_never_filled_in(self):
        missing = ("MISSING_REQUIRED_FIELD", "currency")
        self.assertEqual(refusal_of(DE.format(date="03.09.2025", total="4.820,00")), missing)
        self.assertEqual(refusal_of(AU.format(date="14 March 2025", total="1,240.00")), missing)

    def test_a_sign_with_several_meanings_states_nothing(self):
        for sign in "$", "£", "¥", "kr ":
            with self.subTest(sign):
                self.assertEqual(
                    refusal_of(EN.format(date="14 March 2025", total=f"{sign}99.00")), ("AMBIGUOUS_VALUE", "currency")
                )

    def test_a_sign_beside_a_code_must_be_able_to_mean_it(self):
        date = "14 March 2025\nCurrency: {}"
        self.assertEqual(refusal_of(EN.format(date=date.format("CAD"), total="$99.00"))["currency"], "CAD")
        conflict = ("CONFLICTING_EVIDENCE", "currency")
        self.assertEqual(refusal_of(EN.format(date=date.format("AUD"), total="£99.00")), conflict)
        self.assertEqual(refusal_of(EN.format(date=date.format("AUD"), total="EUR 99.00")), conflict)

    def test_words_in_capitals_are_no_codes(self):
        self.assertEqual(
            refusal_of(EN.format(date="14 March 2025", total="FOR ALL ITEMS 99.00")), ("MISSING_REQUIRED_FIELD", "currency")
        )


class Total(unittest.TestCase):
    def total(self, form, total, date="14 March 2025"):
        answer = refusal_of(form.format(date=date, total=total))
        return answer["total"] if isinstance(answer, dict) else answer

    def test_reads_the_form_the_layout_states(self):
        self.assertEqual(self.total(DE, "EUR 4.820,00", "03.09.2025"), "4820.00")
        self.assertEqual(self.total(DE, "EUR 1.234.567,80", "03.09.2025"), "1234567.80")
        self.assertEqual(self.total(AU, "AUD 4,820.00"), "4820.00")
        self.assertEqual(self.total(AU, "AUD 4820"), "4820.00")

    def test_refuses_the_form_of_another_layout(self):
        for form, total, date in (DE, "EUR 4,820.00", "03.09.2025"), (AU, "AUD 4.820,00", "14 March 2025"):
            with self.subTest(total):
                self.assertEqual(self.total(form, total, date), ("AMBIGUOUS_VALUE", "total"))

    def test_where_no_form_is_stated_only_one_reading_will_do(self):
        self.assertEqual(self.total(EN, "EUR 4,820.50"), "4820.50")
        self.assertEqual(self.total(EN, "EUR 4.820,50"), "4820.50")
        self.assertEqual(self.total(EN, "EUR 4.820"), ("AMBIGUOUS_VALUE", "total"))

    def test_money_back_is_no_total(self):
        for total in "AUD -120.00", "AUD 120.00-", "AUD (120.00)":
            with self.subTest(total):
                self.assertEqual(self.total(AU, total), ("AMBIGUOUS_VALUE", "total"))

    def test_a_line_with_two_numbers_is_not_guessed_at(self):
        self.assertEqual(self.total(AU, "AUD 99.00 within 30 days"), ("AMBIGUOUS_VALUE", "total"))
        self.assertEqual(self.total(AU, "(incl. 10 % GST) AUD 99.00"), "99.00")

    def test_the_same_total_twice_agrees(self):
        self.assertEqual(self.total(AU, "AUD 99.00\nAmount due AUD 99.00"), "99.00")
        self.assertEqual(self.total(AU, "AUD 99.00\nAmount due AUD 98.00"), ("CONFLICTING_EVIDENCE", "total"))

    def test_none_at_all(self):
        text = "INVOICE\nInvoice no: B-7\nDate: 14 March 2025\nCurrency: EUR\n"
        self.assertEqual(refusal_of(text), ("MISSING_REQUIRED_FIELD", "total"))


class InvoiceDate(unittest.TestCase):
    def date(self, form, date):
        answer = refusal_of(form.format(date=date, total="EUR 99.00" if form is EN else "EUR 99,00"))
        return answer["invoice_date"] if isinstance(answer, dict) else answer

    def test_reads_what_can_be_read_in_one_way(self):
        self.assertEqual(self.date(DE, "03.09.2025"), "2025-09-03")
        self.assertEqual(self.date(EN, "2025-09-03"), "2025-09-03")
        self.assertEqual(self.date(EN, "March 4, 2025"), "2025-03-04")
        self.assertEqual(self.date(EN, "13/02/2025"), "2025-02-13")
        self.assertEqual(self.date(EN, "02/13/2025"), "2025-02-13")
        self.assertEqual(self.date(EN, "03/03/2025"), "2025-03-03")

    def test_the_due_date_is_another_date(self):
        self.assertEqual(self.date(EN, "4 March 2025\nDate due: 18 March 2025"), "2025-03-04")

    def test_refuses_the_rest(self):
        for form, date in (EN, "01.02.2025"), (EN, "01/02/25"), (DE, "01.02."), (DE, "31.02.2025"), (DE, "02.13.2025"), (EN, "Q1 2025"):
            with self.subTest(date):
                self.assertEqual(self.date(form, date), ("AMBIGUOUS_VALUE", "invoice_date"))


class Documents(unittest.TestCase):
    def test_other_papers_are_told_by_their_heading(self):
        good = EN.format(date="14 March 2025", total="EUR 99.00")
        for heading in "Credit note", "PRO FORMA INVOICE", "Gutschrift Nr. 4", "Statement of account":
            with self.subTest(heading):
                self.assertEqual(refusal_of(heading + "\n" + good), ("UNSUPPORTED_DOCUMENT", None))
        self.assertEqual(refusal_of(good + "Less your credit note of March\n")["total"], "99.00")

    def test_a_text_of_no_known_layout(self):
        self.assertEqual(refusal_of("Dear all,\nsee you on Monday.\n"), ("UNSUPPORTED_DOCUMENT", None))

    def test_missing_pages(self):
        good = EN.format(date="14 March 2025", total="EUR 99.00")
        self.assertEqual(refusal_of("Page 1 of 2\n" + good), ("TRUNCATED_OR_UNREADABLE", None))
        self.assertEqual(refusal_of("Page 1 of 2\n" + good + "Page 2 of 2\n")["total"], "99.00")


if __name__ == "__main__":
    unittest.main()
