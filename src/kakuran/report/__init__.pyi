from .answers import (
    advice_report as advice_report,
    answer_headings as answer_headings,
    bayes_answer as bayes_answer,
    estimate_answer as estimate_answer,
    mixture_answer as mixture_answer,
    regression_answer as regression_answer,
    statistic_answer as statistic_answer,
    tree_answer as tree_answer,
)
from .page import (
    Html as Html,
    folded as folded,
    page as page,
    pair_section as pair_section,
    picture as picture,
    points as points,
    section as section,
    table as table,
)
from .released import (
    release_report as release_report,
)
from .rows import (
    bits_rows as bits_rows,
    cluster_rows as cluster_rows,
    in_draw as in_draw,
    items_sentence as items_sentence,
    items_table as items_table,
    loss_table as loss_table,
    outlook_rows as outlook_rows,
    plan_rows as plan_rows,
    quantile_row as quantile_row,
    risk_after as risk_after,
    risk_before as risk_before,
)
from .synthetic import (
    about_path as about_path,
    about_synthetic as about_synthetic,
    check_synthetic as check_synthetic,
    save_synthetic as save_synthetic,
)
from .wide import (
    aggregated_report as aggregated_report,
    loss_report as loss_report,
    matrix_report as matrix_report,
)
