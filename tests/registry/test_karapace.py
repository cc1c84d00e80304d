"""The fake registry answers as Karapace does, and as Confluent documents where both differ.

``CONFLUENT`` has each difference in the status, by the line of the question: what Confluent's reference says instead.
Answers of the same status differ too: Karapace sends no GUIDs, sets schemas anew (keys of JSON in alphabetical order),
takes no notice of ``format=serialized`` and ``subjectPrefix``, names only the place in ``messages`` of compatibility, and
counts softly deleted schemas as ones that refer to another.
"""

from tests.registry.fake import FakeRegistry
from tests.registry.questions import Answered, answers, essence, recorded
from tests.registry.server import RunningRegistry


def of_fake(like: str) -> list[Answered]:
    with RunningRegistry(FakeRegistry(like=like)) as running:
        return answers(running.url)


def test_the_fake_answers_as_karapace_does() -> None:
    for ours, theirs in zip(of_fake("karapace"), recorded(), strict=True):
        assert essence(ours) == essence(theirs)


CONFLUENT = {
    "GET /contexts": (
        200,
        "Karapace has no contexts: a subject :.ctx:s is a name as any, and ids are shared",
    ),
    "GET /schemas/ids/999/versions": (404, "an id that does not exist has no versions: Karapace says []"),
    "POST /compatibility/subjects/s/versions/latest?verbose=true": (
        200,
        "a subject without versions accepts all",
    ),
    "POST /compatibility/subjects/s/versions?verbose=true": (200, "Karapace checks a named version only"),
    "POST /subjects/s/versions": (422, "an id and a version need the mode IMPORT: Karapace ignores them"),
    "DELETE /config/s": (404, "nothing to delete is an error: Karapace says 200 each time"),
    "GET /mode/s": (404, "no mode of its own: Karapace says that of all"),
    "OPTIONS /mode/kcli-no-such-subject": (200, "Karapace names no methods"),
    "PUT /mode/s": (200, "Karapace has no modes to set"),
    "DELETE /mode/s": (200, "Karapace has no modes to set"),
    "GET /schemas/ids/4": (404, "an id of which no version is left is forgotten: Karapace keeps it"),
}


def test_the_fake_answers_as_confluent_documents_where_both_differ() -> None:
    differing = {
        ours.question.line: ours.status
        for ours, theirs in zip(of_fake("confluent"), recorded(), strict=True)
        if ours.status != theirs.status
    }
    assert differing == {line: status for line, (status, _) in CONFLUENT.items()}
