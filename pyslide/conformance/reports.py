"""A report for the terminal, for programs (JSON), for test servers (JUnit), and as Markdown or HTML."""

from __future__ import annotations

import html
import json
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from pyslide.conformance.diagnosis import describe
from pyslide.conformance.findings import NOT_OFFERED, Finding, Report
from pyslide.conformance.operations import EVERY_OPERATION
from pyslide.conformance.plain import plain

LONGEST = 200
"""Characters of a value in a message."""
SHOWN = 3
"""Failures of an operation that are shown at a terminal."""


def shortened(value: Any) -> str:
    """Return a value as text, cut where it is long."""
    text = value if isinstance(value, str) else json.dumps(plain(value))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def details(finding: Finding, report: Report) -> list[str]:
    """Return the lines that say what is wrong with a case."""
    flags = f" [{', '.join(finding.case.flags)}]" if finding.case.flags else ""
    lines = [finding.case.summary + flags]
    if finding.difference is not None:
        place = finding.difference.place
        where = "first departs at" if finding.case.operation == "training_trace" else "first differs at"
        lines.append(f"{where} {place}")
        lines.append(f"  expected {shortened(finding.difference.expected)}")
        lines.append(f"  got      {shortened(finding.difference.got)}")
        if finding.difference.excess:
            lines.append(f"  {finding.difference.excess}")
    if finding.message:
        lines.append(finding.message)
    lines += [f"you give {explanation}" for explanation in finding.explanations]
    lines.append(f"paper: section {EVERY_OPERATION[finding.case.operation].section}")
    if finding.known:
        lines.append(f"known: {finding.known.reason} {finding.known.link}".rstrip())
    if report.rerun:
        lines.append(f"again: {report.rerun} --case {finding.case.id}")
    return lines


def verdict(report: Report) -> str:
    """Return the report in a line."""
    counts = ", ".join(f"{count} {status}" for status, count in sorted(report.counts.items()))
    word = "conforms to" if report.conforms else "does not conform to"
    if all(finding.status == "skipped" for finding in report.findings):
        word = "was asked nothing of"
    return f"{report.implementation.name} {word} {report.profile}: {counts or 'no cases'}"


def remarks(report: Report) -> list[str]:
    """Return what concerns no single failure."""
    lines = [
        f"{operation}: {explained} of {failed} failures are what {describe(answers)} gives"
        for operation, (answers, explained, failed) in report.common_answers().items()
    ]
    lines += [
        f"warning: {finding.case.id} is listed as a known failure and passes" for finding in report.unexpected_passes
    ]
    return lines + [
        f"warning: the known failure {entry.id!r} matches no case that was asked" for entry in report.unmatched
    ]


def bad(report: Report) -> list[Finding]:
    """Return failures and errors."""
    return [finding for finding in report.findings if finding.status in ("failed", "errored")]


def by_operation(report: Report) -> list[tuple[str, dict[str, int]]]:
    """Return how the cases of each operation ended."""
    rows = []
    for operation in EVERY_OPERATION:
        statuses = [finding.status for finding in report.findings if finding.case.operation == operation]
        if statuses:
            rows.append((operation, {status: statuses.count(status) for status in STATUSES}))
    return rows


STATUSES = ("passed", "failed", "errored", "skipped")
"""How a case can end."""


def shown_first(findings: list[Finding]) -> tuple[list[Finding], int]:
    """Return the first few findings of each operation, and how many there are besides."""
    seen: Counter[str] = Counter()
    shown = []
    for finding in findings:
        seen[finding.case.operation] += 1
        if seen[finding.case.operation] <= SHOWN:
            shown.append(finding)
    return shown, len(findings) - len(shown)


def reasons(report: Report) -> list[tuple[str, list[str]]]:
    """Return why cases of operations that are offered were skipped, and which; of each reason the first few."""
    found: dict[str, list[str]] = {}
    for finding in report.findings:
        if finding.status == "skipped" and finding.outcome != NOT_OFFERED:
            found.setdefault(shortened(finding.message or "without a reason"), []).append(finding.case.id)
    return [
        (reason, cases[:SHOWN] + ([f"and {len(cases) - SHOWN} more"] if len(cases) > SHOWN else []))
        for reason, cases in found.items()
    ]


def terminal(report: Report) -> str:
    """Return the report for a person at a terminal."""
    lines = []
    shown, more = shown_first(bad(report))
    for finding in shown:
        known = " (known)" if finding.known else ""
        lines.append(f"{finding.status.upper()}{known} {finding.case.id}")
        lines += [f"    {line}" for line in details(finding, report)]
    if more:
        lines.append(f"... and {more} more; {SHOWN} of an operation are shown here, --report markdown shows all")
    offered = {finding.case.operation for finding in report.findings if finding.outcome != NOT_OFFERED}
    asked = [(name, counts) for name, counts in by_operation(report) if name in offered]
    rest = [name for name, _ in by_operation(report) if name not in offered]
    lines += [f"skipped {reason}: {', '.join(cases)}" for reason, cases in reasons(report)]
    lines.append(f"{'operation':<18}" + "".join(f"{status:>9}" for status in STATUSES))
    for operation, counts in asked:
        lines.append(f"{operation:<18}" + "".join(f"{counts[status]:>9}" for status in STATUSES))
    if rest:
        lines += textwrap.wrap(f"not offered: {', '.join(rest)}", 110, subsequent_indent="  ")
    return "\n".join([*lines, *remarks(report), verdict(report)]) + "\n"


def as_json(report: Report) -> str:
    """Return the report for programs."""
    findings = [finding_as_dict(finding, report) for finding in report.findings]
    document = {
        "version": 1,
        "implementation": vars(report.implementation),
        "profile": report.profile,
        "conforms": report.conforms,
        "counts": report.counts,
        "remarks": remarks(report),
        "findings": findings,
    }
    return json.dumps(plain(document), indent=1) + "\n"


def finding_as_dict(finding: Finding, report: Report) -> dict[str, Any]:
    """Return a finding as JSON can hold it."""
    result: dict[str, Any] = {
        "id": finding.case.id,
        "operation": finding.case.operation,
        "status": finding.status,
        "seconds": round(finding.seconds, 6),
    }
    if finding.difference is not None:
        result["difference"] = finding.difference._asdict()
        result["matches"] = list(finding.answers)
        result["explanations"] = list(finding.explanations)
    if finding.message:
        result["message"] = finding.message
    if finding.known is not None:
        result["known"] = finding.known._asdict()
    if finding.status in ("failed", "errored") and report.rerun:
        result["again"] = f"{report.rerun} --case {finding.case.id}"
    return result


def junit(report: Report) -> str:
    """Return the report as a test server reads it."""
    findings = report.findings
    count = {status: sum(finding.status == status for finding in findings) for status in STATUSES}
    head = (
        f'<testsuite name={quoteattr(f"pyslide verify {report.implementation.name}")} tests="{len(findings)}" '
        f'failures="{count["failed"]}" errors="{count["errored"]}" skipped="{count["skipped"]}">'
    )
    cases = "\n".join(junit_case(finding, report) for finding in findings)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}\n{cases}\n</testsuite>\n'


def printable(text: str) -> str:
    """Return a text without the control characters that XML cannot hold."""
    return "".join(letter for letter in text if letter >= " " or letter in "\n\t")


def junit_case(finding: Finding, report: Report) -> str:
    """Return one case of the suite."""
    head = (
        f"<testcase classname={quoteattr(finding.case.operation)} name={quoteattr(finding.case.id)} "
        f'time="{finding.seconds:.6f}"'
    )
    if finding.status == "passed":
        return f" {head}/>"
    tag = {"failed": "failure", "errored": "error", "skipped": "skipped"}[finding.status]
    if finding.known is not None:
        tag = "skipped"
    text = printable("\n".join(details(finding, report)))
    message = quoteattr(printable(str(finding.difference or finding.message))[:LONGEST])
    return f" {head}><{tag} message={message}>{escape(text)}</{tag}></testcase>"


def markdown(report: Report) -> str:
    """Return the report as Markdown."""
    lines = [f"# {verdict(report)}", "", "| operation | " + " | ".join(STATUSES) + " |", "|---|---|---|---|---|"]
    for operation, counts in by_operation(report):
        lines.append(f"| {operation} | " + " | ".join(str(counts[status]) for status in STATUSES) + " |")
    lines += ["", *(f"- {remark}" for remark in remarks(report))]
    for finding in bad(report):
        lines += ["", f"## {finding.status}: `{finding.case.id}`", "", "```", *details(finding, report), "```"]
    return "\n".join(lines) + "\n"


def as_html(report: Report) -> str:
    """Return the report as one page."""
    rows = "\n".join(
        f"<tr><td>{operation}</td>" + "".join(f"<td>{counts[status]}</td>" for status in STATUSES) + "</tr>"
        for operation, counts in by_operation(report)
    )
    failures = "\n".join(
        f"<h2>{finding.status}: <code>{finding.case.id}</code></h2>\n"
        f"<pre>{html.escape(chr(10).join(details(finding, report)))}</pre>"
        for finding in bad(report)
    )
    notes = "\n".join(f"<li>{html.escape(remark)}</li>" for remark in remarks(report))
    title = html.escape(verdict(report))
    header = "".join(f"<th>{status}</th>" for status in STATUSES)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>\n'
        f"<h1>{title}</h1>\n<table><tr><th>operation</th>{header}</tr>\n{rows}</table>\n"
        f"<ul>{notes}</ul>\n{failures}\n</body></html>\n"
    )


REPORTS: Mapping[str, Callable[[Report], str]] = {
    "terminal": terminal,
    "json": as_json,
    "junit": junit,
    "markdown": markdown,
    "html": as_html,
}
"""The forms of a report by name."""
