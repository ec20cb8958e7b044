"""What is a person's is known by its values or by the name of its column, in many languages; what is not, is left."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import kakuran as kk
from kakuran.schema.orders import proposed_order
from kakuran.schema.personal import personal_kind, personal_number

RNG = random.Random(7)


def iban(country, account):
    turned = "".join(str(int(letter, 36)) for letter in f"{account}{country}00")
    return f"{country}{98 - int(turned) % 97:02}{account}"


def card(number):
    digits = [int(digit) * (2 - place % 2) for place, digit in enumerate(reversed(number))]
    return number + str(-sum(one - 9 * (one > 9) for one in digits) % 10)


def crossed(first, last, form="{} {}"):
    return [form.format(one, other) for one in first for other in last]


GERMAN = crossed(["Anna", "Karl", "Lena", "Emil"], ["Maier", "Huber", "Gruber", "Bauer", "Hofer", "Moser"])
FRENCH = crossed(["Camille", "Jérôme", "Zoé", "Léa"], ["Dupont", "Lefèvre", "Moreau", "Girard", "de la Tour"])
RUSSIAN = crossed(["Иванов", "Петрова", "Сидоренко", "Кузнецов"], ["Иван Петрович", "Анна Сергеевна", "Ольга"])
ARABIC = crossed(["محمد", "فاطمة", "أحمد", "نور"], ["الهاشمي", "المصري", "العلي", "حداد"])
JAPANESE = crossed(["佐藤", "鈴木", "高橋", "田中", "渡辺"], ["太郎", "花子", "一郎", "美咲"], "{} {}")
CHINESE = crossed("王李张刘陈杨", ["伟", "芳", "秀英", "娜"], "{}{}")
KOREAN = crossed("김이박최정강", ["민준", "서연", "지우", "하은"], "{}{}")
ENGLISH = crossed(["Mr. James", "Dr. Mary", "Ms Linda"], ["O'Brien", "Smith-Jones", "Okafor", "van Dyke"])
INITIALS = crossed("ABCDE", ["Maier", "Huber", "Gruber"], "{}. {}")
SURNAMES = ["Maier", "Huber", "Gruber", "Bauer", "Hofer", "Moser", "Wagner", "Pichler", "Steiner", "Mayer"]

PEOPLE = {
    "e-mail addresses, whatever the column is called": ("wert", ["x", "anna.maier@example.at", "karl@firma.de"]),
    "e-mail addresses in brackets": ("contact", ["Anna Maier <anna@example.com>"]),
    "IBANs": ("ref", [iban("DE", f"{370400440532013000 + one}") for one in range(9)]),
    "IBANs in groups": ("ref", ["GB29 NWBK 6016 1331 9268 19", "FR76 3000 6000 0112 3456 7890 189"]),
    "cards": ("paid with", [card(f"4{RNG.randrange(10**14):014}") for _ in range(9)]),
    "phones, as abroad": ("x", [f"+43 664 {RNG.randrange(10**6, 10**7)}" for _ in range(9)]),
    "phones, in Japan": ("連絡先", [f"090-{RNG.randrange(1000, 9999)}-{RNG.randrange(1000, 9999)}" for _ in range(9)]),
    "phones, in America": ("x", [f"(555) {RNG.randrange(100, 999)}-{RNG.randrange(1000, 9999)}" for _ in range(9)]),
    "social security": ("x", [f"{RNG.randrange(100, 899)}-45-{RNG.randrange(1000, 9999)}" for _ in range(9)]),
    "codice fiscale": ("codice", ["RSSMRA85T10A562S", "VRDLGI90A41F205X", "BNCNNA75M50H501Y"]),
    "DNI": ("documento", ["12345678Z", "87654321X"]),
    "machines": ("source", ["192.168.0.1", "10.0.0.7", "2001:db8::1"]),
    "MAC addresses": ("device", ["00:1A:2B:3C:4D:5E", "00-1a-2b-3c-4d-5f"]),
    "UUIDs": ("key", ["123e4567-e89b-12d3-a456-426614174000"]),
    "web pages": ("profile", ["https://example.com/anna", "http://example.com/karl"]),
    "streets": ("lives at", ["Hauptstraße 12", "Ringweg 3a", "Am Platz 7", "12 High Street", "5 rue de la Paix"]),
    "Japanese addresses": ("所在", ["東京都新宿区西新宿2-8-1", "大阪市北区中之島1丁目3番20号"]),
    "postcodes of few houses": ("pc", ["SW1A 1AA", "M1 1AE", "EC1A 1BB"]),
    "positions": ("where", ["48.20817, 16.37382", "47.07071, 15.43950"]),
    "handles": ("account", ["@anna_m", "@karl.h"[:5], "@lena99"]),
    "German names": ("wer", GERMAN),
    "surname first": ("wer", [f"{name.split()[1]}, {name.split()[0]}" for name in GERMAN]),
    "capitals": ("wer", [name.upper() for name in GERMAN]),
    "French names": ("qui", FRENCH),
    "Russian names": ("кто", RUSSIAN),
    "Arabic names": ("من", ARABIC),
    "Japanese names": ("対象", JAPANESE),
    "Japanese names without a space": ("対象", [name.replace(" ", "") for name in JAPANESE]),
    "Chinese names": ("对象", CHINESE),
    "Korean names": ("대상", KOREAN),
    "names with titles": ("who", ENGLISH),
    "first names": ("who", ["Anna", "Karl", "Lena", "Emil", "Jonas", "Paul", "Marie", "Laura", "Felix", "Clara"]),
    "initials of a signature": ("signature", INITIALS),
    "surnames of doctors": ("Doctor", [*SURNAMES, *(f"{name}er" for name in SURNAMES)]),
    "numbers of patients": ("patient", [f"P-{number:04}" for number in range(30)]),
    "numbers of customers": ("顧客番号", [f"C{number:05}" for number in range(30)]),
    **{
        f"a column called {name}": (name, ["Zyx", "Wvu", "Tsr"])
        for name in (
            "name", "Nachname", "prénom", "NOM", "apellidos", "Cognome", "nazwisko", "фамилия", "ФИО", "氏名",
            "フリガナ", "姓名", "이름", "الاسم", "customerName", "first_name", "Telefonnummer", "телефон",
            "電話番号", "E-Mail", "phone no.",
        )
    },
    "a number that a state gives": ("SVNR", ["1234 010180", "4321 311299"]),
    "an account": ("Kontonummer", ["000123456", "000654321"]),
    "an address by its name": ("Anschrift", ["Dorf 12345", "Feld 23456"]),
}  # fmt: skip

OTHERS = {
    "cities": ("city", ["New York", "Los Angeles", "San Diego", "San José", "Santa Ana", "Las Vegas", "St. Louis"]),
    "cities in a column of another name": (
        "born in",
        ["Wien", "Graz", "Linz", "San Marino", "St. Pölten", "Bad Ischl"],
    ),
    "jobs": ("job", ["Software Engineer", "Data Scientist", "Nurse Practitioner", "Police Officer", "Social Worker"]),
    "jobs of patients": ("患者_職業", ["会社員", "自営業", "公務員", "農業", "学生", "無職"]),
    "diagnoses": ("diagnosis", ["Type 2 diabetes", "Heart failure", "Parkinson Disease", "Crohn Disease", "COPD"]),
    "codes of diagnoses": ("icd", ["E11.9", "I10", "J45.0", "C50.9", "A00-B99"]),
    "months": ("month", ["January", "February", "April", "May", "June", "August"]),
    "countries": ("country", ["South Africa", "United Kingdom", "Saudi Arabia", "New Zealand", "Costa Rica", "Jordan"]),
    "products": ("product", ["Apple Juice", "Rye Bread", "Johnnie Walker", "Jack Daniels", "Aunt Jemima", "Dr Pepper"]),
    "products in Russian": ("товар", ["Молоко коровье", "Яблоко красное", "Хлеб белый", "Сыр Российский"]),
    "prefectures": ("都道府県", ["石川県", "千葉県", "福島県", "山口県", "宮崎県", "東京都", "大阪府"]),
    "municipalities": ("自治体", ["山口市", "千葉市", "川口市", "松本市", "高松市", "横山町"]),
    "departments": ("department", ["Human Resources", "Customer Service", "Legal", "Sales"]),
    "kinds of customers": ("customer", ["private", "business", "public"]),
    "kinds of contacts": ("contact", ["cellular", "telephone"]),
    "segments": ("customer segment", ["Young Family", "Rich Retiree", "Poor Student", "Small Business"]),
    "yes and no about phones": ("PhoneService", ["Yes", "No"]),
    "yes and no about mail": ("E-Mail", ["ja", "nein"]),
    "kinds of phones": ("phone_type", ["mobile", "landline"]),
    "an address's kind": ("address type", ["home", "work"]),
    "zips": ("zip", ["12345", "23456", "34567"]),
    "memberships": ("membership", ["gold", "silver"]),
    "numbers of bands": ("income", ["100 000-149 999", "150 000-199 999", "200 000+"]),
    "religions": ("religion", ["Roman Catholic", "Christian Orthodox", "Muslim", "Jewish", "None"]),
    "ISBNs": ("isbn", ["978-3-16-148410-0", "978-0-306-40615-7"]),
    "tickets": ("ticket", ["A/5 21171", "PC 17599", "STON/O2. 3101282"]),
    "titles": ("title", ["Mr", "Mrs", "Dr"]),
    "blood": ("blood", ["A+", "A-", "AB+", "0-"]),
    "schools": (
        "school",
        ["St. Mary High School", "Albert Einstein School", "Marie Curie School", "Anna Freud School"],
    ),
    "cars": ("automobile", ["Peugeot 206", "Mazda 323", "BMW 320"]),
    "smartphones": ("smartphone", ["Galaxy 1000", "Pixel 2000", "Xperia 3000"]),
    "names of products": ("ชื่อสินค้า", ["ข้าว", "น้ำ", "ปลา"]),
    "stock codes": ("StockCode", ["85123A", "71053", "84406B", "22752"]),
    "ethnicities": ("race", ["African American", "Pacific Islander", "White", "Native American"]),
    "Japanese occupations": ("職業", ["会社員", "自営業", "公務員", "専業主婦", "学生", "無職", "農林業"]),
    "Korean occupations": ("직업", ["회사원", "공무원", "자영업", "교사", "학생", "주부", "의사", "간호사"]),
}


@pytest.mark.parametrize(("name", "values"), PEOPLE.values(), ids=PEOPLE)
def test_what_is_a_persons_is_known(name, values):
    assert personal_kind(name, values) is not None


@pytest.mark.parametrize(("name", "values"), OTHERS.values(), ids=OTHERS)
def test_what_is_nobodys_stays_a_category(name, values):
    assert personal_kind(name, values) is None


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("x", [int(card(f"4{RNG.randrange(10**14):014}")) for _ in range(30)]),
        ("телефон", [4366_0000000 + RNG.randrange(10**7) for _ in range(30)]),
        ("ssn", [RNG.randrange(10**8, 10**10) for _ in range(30)]),
        ("CustomerID", range(12_346, 12_400)),
        ("x", [10**10 + RNG.randrange(10**9) for _ in range(30)]),
    ],
)
def test_numbers_that_people_are_given_are_known(name, numbers):
    assert personal_number(name, numbers) is not None


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("income", range(10_000, 900_000, 1_000)),
        ("plz", range(1_010, 9_990, 10)),
        ("seconds", range(1_600_000_000, 1_700_000_000, 10**6)),
        ("phone calls", range(30)),
        ("Skonto", range(10_000, 99_000, 500)),
        ("acompte", range(10_000, 99_000, 500)),
        ("product_id", range(10_000, 10_100)),
        ("customers", range(100)),
    ],
)
def test_amounts_stay_numbers(name, numbers):
    assert personal_number(name, numbers) is None


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=20), st.lists(st.text(max_size=30), max_size=8), st.lists(st.integers(0, 10**18), max_size=8))
def test_any_text_can_be_looked_at(name, values, numbers):
    personal_kind(name, values)
    personal_number(name, numbers or [0])
    ranked = proposed_order(set(values))
    assert ranked is None or sorted([*ranked[0], *ranked[1]]) == sorted(set(values))


@pytest.mark.parametrize("unit", ["1 ", "a1.", "@", "(-", "Anna ", "1,234 - "])
def test_values_without_end_take_no_time(unit):
    assert personal_kind("x", [unit * 200_000 + str(one) for one in range(3)]) is None
    assert proposed_order({unit * 200_000 + str(one) for one in range(3)}) is None


@pytest.mark.filterwarnings("ignore::kakuran.InferredDomainWarning")
class TestDrafts:
    def test_the_reason_stands_beside_the_line_that_drops_a_column_and_no_value_does(self):
        drafted = kk.Schema.infer(
            pa.table({"who": GERMAN * 5, "mail": ["a@example.org"] * 120, "ill": ["y", "n"] * 60})
        )
        text = drafted.to_toml()
        assert '[columns."who"]\nrole = "drop"  # looks like names of people\n' in text
        assert '[columns."mail"]\nrole = "drop"  # holds e-mail addresses\n' in text
        assert not [name for name in (*GERMAN, "a@example.org") if name in text]
        assert kk.Schema.from_toml(text) == drafted

    def test_what_follows_from_a_persons_column_and_is_as_rich_is_dropped_and_what_is_coarse_stays(self):
        people = {"who": GERMAN, "code": [f"K-{number}" for number in range(24)], "sex": ["f", "m"] * 12}
        rows = {name: values * 10 for name, values in people.items()} | {"day": ["a", "b", "c"] * 80}
        drafted = kk.Schema.infer(pa.table(rows))
        assert [one.name for one in drafted.released] == ["sex", "day"]
        assert drafted.remarks["code"] == "follows from 'who' and has about as many values"

    def test_rows_that_share_a_person_are_theirs(self):
        table = pa.table(
            {"who": GERMAN * 10, "mail": [f"{one}@example.org" for one in range(24)] * 10, "x": ["a", "b"] * 120}
        )
        assert kk.Schema.infer(table).person == "who"
        assert kk.Schema.infer(table.slice(0, 24)).person is None, "everybody has one row"
        gaps = table.set_column(0, "who", pa.array([None, *table.column("who").to_pylist()[1:]]))
        assert kk.Schema.infer(gaps.select(["who", "x"])).person is None, "nobody knows whose the first row is"

    def test_two_kinds_of_people_are_not_told_apart_but_pointed_out(self):
        doctors = [f"Dr. {name} Weiss" for name in ("Paul", "Ida", "Otto", "Eva", "Max")] * 4 + [
            *map("Dr. Jan {}".format, "ABCDEFGHIJKLMNOPQRST")
        ]
        rng = random.Random(1)
        table = pa.table({"patient": GERMAN * 20, "doctor": rng.choices(doctors, k=480), "x": ["a", "b"] * 240})
        with pytest.warns(kk.InferredDomainWarning, match="perhaps say whose a row is, .*: patient, doctor"):
            drafted = kk.Schema.infer(table)
        assert drafted.person is None

    def test_columns_that_follow_from_each_other_are_pointed_out_where_nothing_says_that_they_are_peoples(self):
        rows = pa.table({"item": [f"thing {n}" for n in range(25)] * 9, "code": [f"T{n}" for n in range(25)] * 9})
        with pytest.warns(kk.InferredDomainWarning, match="Each follows from the other, .*: item ↔ code"):
            drafted = kk.Schema.infer(rows)
        assert len(drafted.released) == 2


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.decimal128(20, 0)])
@pytest.mark.parametrize(("name", "first"), [("phone", 2_125_550_000), ("patient_id", 100_003), ("id", 100_003)])
@pytest.mark.parametrize("gap", [False, True])
def test_numbers_named_for_a_phone_or_an_id_are_left_out_whatever_their_type(name, first, kind, gap):
    """Otherwise the least and the largest of them, which are somebody's, would become bounds."""
    numbers = [first + 37 * place * place for place in range(50)]
    column = pa.array([*numbers, None] if gap else [*numbers, first + 1]).cast(pa.int64()).cast(kind)
    with pytest.warns(kk.InferredDomainWarning):
        schema = kk.Schema.infer(pa.table({name: column, "x": ["a", "b", "c"] * 17}))
    assert isinstance(schema[name], kk.Dropped)


WORLD = {
    "Hindi": ("सुनीता राजेश अनिल प्रिया विजय", "शर्मा वर्मा सिंह गुप्ता यादव"),
    "Thai": ("สมชาย สมหญิง วิชัย มาลี สุดา", "ใจดี รักไทย ทองคำ ศรีสุข บุญมี"),
    "Georgian": ("გიორგი ნინო დავით მარიამ ლევან", "ბერიძე კაპანაძე გელაშვილი მაისურაძე ლომიძე"),
    "Swahili": ("Juma Asha Baraka Neema Zawadi", "Mwangi Otieno Kamau Wanjiru Achieng"),
    "Hungarian": ("Nagy Kovács Tóth Szabó Horváth", "Zsuzsanna László Ildikó Gergő Csaba"),
    "Finnish": ("Päivi Juhani Tuula Eero Ritva", "Korhonen Virtanen Mäkinen Nieminen Laine"),
    "Yoruba": ("Adebayo Folake Oluwaseun Titilayo Yetunde", "Okafor Adeyemi Balogun Ogunleye Akinola"),
    "Kana": ("サトウ スズキ タカハシ タナカ イトウ", "ヒロシ ケイコ ユミ タケシ アキラ"),
    "Turkish": ("Ayşe Mehmet Fatma Mustafa Emine", "Yılmaz Kaya Demir Şahin Çelik"),
}


@pytest.mark.parametrize("rows", [1, 2, 3, 10])
@pytest.mark.parametrize("language", WORLD)
def test_names_of_any_language_are_marked_however_often_they_stand(language, rows):
    first, last = (words.split() for words in WORLD[language])
    names = [f"{one} {other}" for one in first for other in last] * rows
    table = pa.table({"x": names, "ill": (["no", "yes", "no"] * len(names))[: len(names)]})
    with pytest.warns(kk.InferredDomainWarning) as told:
        schema = kk.Schema.infer(table)
    is_dropped = isinstance(schema["x"], kk.Dropped)
    assert is_dropped or "Perhaps names of people" in str(told[0].message)
    assert is_dropped or "perhaps names of people" in schema.to_toml()
    assert schema.person is None or "Two people of one name count as one" in str(told[0].message)


def test_towns_and_jobs_by_name_are_no_names_of_people():
    towns = [
        f"{one} {other}" for one in ("San", "Los", "New", "Fort", "El") for other in ("Jose", "Paso", "York", "Ana")
    ]
    with pytest.warns(kk.InferredDomainWarning) as told:
        kk.Schema.infer(pa.table({"town": [*towns, *towns]}))
    assert "names of people" not in str(told[0].message)
