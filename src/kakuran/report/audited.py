"""The section of a report that shows the audit."""

from __future__ import annotations

from kakuran.release import Audit
from kakuran.release.audit_picture import draw_audit
from kakuran.report.page import Html, beside, paragraph, picture, section, table
from kakuran.report.rows import risk_after, risk_before
from kakuran.report.words import Words


def audit_section(audit: Audit, say: Words) -> Html:
    """What the strongest attacker achieved, before and after."""
    verdict = (
        [paragraph(say("audit_passed", k=audit.k), kind="passed")]
        if audit.passed
        else [paragraph(say("audit_failed", why=problem), kind="warning") for problem in audit.problems]
    )
    return section(
        say("audit"),
        *verdict,
        paragraph(say("audit_why")),
        picture(
            draw_audit(audit, say.of),
            say("audit_picture", worst=audit.worst_posterior, bound=audit.bound),
            narrow=draw_audit(audit, say.of, narrow=True),
        ),
        beside(
            table(say("audit_before"), [say("risk"), say("value")], risk_before(audit, say)),
            table(
                say("audit_after", attacked=audit.attacked, n=audit.n),
                [say("risk"), say("probability")],
                risk_after(audit, say),
            ),
        ),
    )
