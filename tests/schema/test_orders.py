"""Categories that have an order are proposed in it: ranges and scales, in many languages; others are left alone."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.schema.orders import proposed_order

ORDERS = """
<1|1-3|4-10|>10
[0,10)|[10,15)|[15,20)|[20,25)|[25,30)|[30,40)|[40,50)|[50,75)|75+
14-17|18-24|25-34|35-44|45-54|55-64|65+
under 18|18-24|25-64|65 and over
(-inf, 1.5]|(1.5, 2.5]|(2.5, inf)
[-10,0)|[0,10)|[10,20)
≤5|6–10|≥11
none|1-2|3-5|6+
0|1|2|3+
0 - 20%|20 - 40%|40 - 60%|60 - 100%
<10k|10-50k|50-100k|>100k
<$10,000|$10,000-$24,999|$25,000-$49,999|$50,000+
100 000-149 999|150 000-199 999|200 000+
less than 1 year|1-3 years|4-10 years|more than 10 years
1 to less than 5|5 to less than 10|10+
1-4 employees|5-9 employees|10+ employees
unter 18|18 bis 24|25 bis 64|65 und älter
moins de 18 ans|18 à 24 ans|25 à 64 ans|65 ans et plus
до 18|18-30|31-60|старше 60
10歳未満|10代|20代|30代|90代|100歳以上
15歳～19歳|20歳～24歳|25歳～29歳
100万円未満|100万円以上300万円未満|300万円以上
5人未満|5～9人|10～29人|30人以上
strongly disagree|disagree|neutral|agree|strongly agree
Stimme gar nicht zu|Stimme eher nicht zu|Stimme eher zu|Stimme voll und ganz zu
pas du tout d'accord|plutôt pas d'accord|plutôt d'accord|tout à fait d'accord
まったくそう思わない|あまりそう思わない|どちらともいえない|ややそう思う|とてもそう思う
1 very bad|2|3|4|5 very good
1 - Very bad|2 - Bad|3 - Fair|4 - Good|5 - Very good
very dissatisfied|dissatisfied|satisfied|very satisfied
never|rarely|sometimes|often|always
nie|selten|manchmal|oft|immer
jamais|rarement|parfois|souvent|toujours
まったくない|ときどき|いつも
low|medium|high
Low|Moderate|Severe
S|M|L|XL
Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec
mar|apr|may|jun|jul|aug|sep|oct|nov|dec
1月|2月|3月|10月|12月
Mon|Tue|Wed|Thu|Fri|Sat|Sun
lundi|mardi|mercredi|jeudi|vendredi
月|火|水|木|金|土|日
primary|secondary|tertiary
Preschool|1st-4th|9th|10th|12th|HS-grad|Some-college|Bachelors|Masters|Doctorate
Hauptschule|Realschule|Abitur|Bachelor|Master
中学|高校|大学|大学院
Grade 1|Grade 2|Grade 3|Grade 10
stage I|stage II|stage III|stage IV
要介護1|要介護2|要介護3
1年生|2年生|3年生
"""
NONE = """
nurse|clerk|baker
Male|Female|Other
A|B|AB|O
S|C|Q
Graz|Linz|Wien
E11|E12|I10
A00-B99|C00-D48|E00-E90
1 Male|2 Female|3 Other
Region 1|Region 2|Region 3
Ward 1|Ward 2|Ward 3
2-1|1-0|3-2
1-5|3-8|9-10
01|10|22
1.2|1.3|2.0
10-12-B|10-13-B|11-1-A
yes|no|maybe
no|yes|unknown
married|single|divorced
red|green|blue
Month-to-month|One year|Two year
Tuesday|Mon|holiday
low|high|tall
"""


@pytest.mark.parametrize("line", ORDERS.strip().splitlines())
def test_what_has_an_order_is_put_in_it(line):
    values = line.split("|")
    mixed = random.Random(3).sample(values, len(values))
    assert proposed_order(mixed) == (values, [])


@pytest.mark.parametrize("line", NONE.strip().splitlines())
def test_what_has_no_order_is_given_none(line):
    assert proposed_order(line.split("|")) is None


def test_what_says_nothing_stands_behind_the_others():
    assert proposed_order(["不明", "20代", "10歳未満", "10代"]) == (["10歳未満", "10代", "20代"], ["不明"])


@pytest.mark.filterwarnings("ignore::kakuran.InferredDomainWarning")
class TestDrafts:
    def test_an_order_is_drafted_as_a_proposal_in_a_comment(self):
        drafted = kk.Schema.infer(pa.table({"years": ["4-10", "<1", ">10", "1-3"] * 9}))
        assert drafted["years"] == kk.Categorical("years", ["<1", "1-3", "4-10", ">10"], ordered=True)
        assert "ordered = true  # a proposal: check the order" in drafted.to_toml()

    def test_with_values_that_say_nothing_among_them_values_stand_in_order_and_are_not_called_so(self):
        drafted = kk.Schema.infer(pa.table({"pain": ["high", "low", "unknown", "medium"] * 9}))
        assert drafted["pain"] == kk.Categorical("pain", ["low", "medium", "high", "unknown"])
        assert "# in order but for 'unknown': if that stands for missing, set missing_codes" in drafted.to_toml()
