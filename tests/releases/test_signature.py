"""Who vouches for a release, what its file claims, and how a recipient is told the two from what was counted."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import oneoff as library
from oneoff.errors import BadValue, DamagedRelease, UnreadableFile
from oneoff.releases.folder import load_release
from oneoff.releases.signature import SIGNATURE, origin_of, signer
from oneoff.table.sample import sample
from tests.command_line import Answer, oneoff

pytestmark = pytest.mark.usefixtures("without_pictures")

ROLES = ("--quasi", "age,gender,country", "--sensitive", "occupation", "--guarantee", "l-diversity:3", "--seed", "4")
UNVOUCHED = "holds, but nobody vouches for its origin"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys as the two tools write them: steward by ssh-keygen, other by openssl."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    folder = tmp_path_factory.mktemp("keys")
    steward, other = (Ed25519PrivateKey.from_private_bytes(bytes([i] * 32)) for i in (1, 2))
    plain = form.NoEncryption()
    (folder / "steward").write_bytes(steward.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, plain))
    public = steward.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH)
    (folder / "steward.pub").write_bytes(public + b" steward@clinic\n")
    (folder / "other.pem").write_bytes(other.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, plain))
    info = form.PublicFormat.SubjectPublicKeyInfo
    (folder / "other.pub").write_bytes(other.public_key().public_bytes(form.Encoding.PEM, info))
    locked = steward.private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.BestAvailableEncryption(b"a passphrase")
    )
    (folder / "locked").write_bytes(locked)
    return folder


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("people") / "people.csv"
    pyarrow.csv.write_csv(sample(300, seed=1), source)
    return source


@pytest.fixture(scope="module")
def made(people: Path, keys: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made")
    for name, more in {
        "plain": ("--method", "mondrian"),
        "signed": ("--method", "mondrian", "--sign", keys / "steward"),
        "insider": ("--method", "transversal", "--sign", keys / "other.pem"),
    }.items():
        assert oneoff("anonymize", people, *ROLES, *more, "--out", out / name).status == 0
    return out


@pytest.fixture
def public(made: Path, tmp_path: Path) -> Path:
    """The public half of a release by mondrian that stands against a reader, to be changed."""
    shutil.copytree(made / "plain" / "public", tmp_path / "public")
    return tmp_path / "public"


def line(answer: Answer) -> str:
    return " ".join(answer.out.split())


def forge(public: Path, changes: dict[str, object], frame: pa.Table | None = None) -> None:
    """Change a release as somebody would who knows about hashes."""
    if frame is not None:
        pq.write_table(frame, public / "data.parquet", compression="zstd")
    path = public / "release.json"
    described = json.loads(path.read_text()) | changes
    described["files"]["data.parquet"] = hashlib.sha256((public / "data.parquet").read_bytes()).hexdigest()
    path.write_text(json.dumps(described, indent=2, ensure_ascii=False) + "\n")


# --- what the file claims


def test_a_claim_that_was_edited_in_is_no_finding(public: Path) -> None:
    forge(public, {"stands_against": "insider"})
    answer = oneoff("verify", public)
    assert answer.status == 1
    assert "the file claims that mondrian stands against somebody who knows how the release was made" in line(answer)
    assert "keeps it also" not in line(answer)
    assert oneoff("verify", public, "--json").json["outcome"] == "does not hold"
    assert not library.verify(public).holds


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("magic", "there is no such method"),
        ("sabre", "cannot keep l-diversity:3"),
        ("exact-size", "makes no generalized releases"),
    ],
)
def test_a_method_that_was_made_up_is_refused(method: str, said: str, public: Path) -> None:
    forge(public, {"method": method})
    answer = oneoff("verify", public)
    assert (answer.status, said in line(answer)) == (1, True)


def test_counted_claimed_and_unknown_are_told_apart(made: Path) -> None:
    said = line(oneoff("verify", made / "insider" / "public"))
    counted, claimed = said.split("Claimed by the file, and not counted: ")
    assert "insider" not in counted
    assert "knows how" not in counted
    assert claimed.startswith("transversal made it, which stands against somebody who knows how the release was made.")
    assert "Nobody can check from here that the records are true" in claimed
    found = oneoff("verify", made / "insider" / "public", "--json").json
    assert found["claims"] == {"method": "transversal", "stands_against": "insider"}
    assert found["unchecked"].startswith("Nobody can check from here")
    assert "knows how" not in library.verify(made / "insider" / "public").sentence()


def test_what_chance_did_is_a_condition_and_no_finding(people: Path, tmp_path: Path) -> None:
    roles = ("--quasi", "age,gender", "--sensitive", "race", "--guarantee", "beta-likeness:3", "--seed", "4")
    oneoff("anonymize", people, *roles, "--method", "perturbation", "--out", tmp_path / "out")
    answer = oneoff("verify", tmp_path / "out" / "public")
    assert answer.out.startswith("The promise holds, provided that chance drew as the file says, against anyone")


# --- who vouches for it


def test_answers_have_statuses_of_their_own(made: Path, keys: Path, public: Path) -> None:
    signed = oneoff("verify", made / "signed" / "public", "--key", keys / "steward.pub", "--json")
    assert (signed.status, signed.json["outcome"], signed.json["holds"]) == (0, "holds", True)
    alone = oneoff("verify", public, "--json")
    assert (alone.status, alone.json["outcome"], alone.json["holds"]) == (0, UNVOUCHED, True)
    asked = oneoff("verify", public, "--key", keys / "steward.pub", "--json")
    assert (asked.status, asked.json["outcome"]) == (4, UNVOUCHED), "who names a key wants it"
    forge(public, {"method": "magic"})
    forged = oneoff("verify", public, "--json")
    assert (forged.status, forged.json["outcome"], forged.json["holds"]) == (1, "does not hold", False)


def test_the_owner_of_the_key_is_named(made: Path, keys: Path) -> None:
    answer = oneoff("verify", made / "signed" / "public", "--key", keys / "steward.pub")
    assert "Vouched for by steward@clinic (SHA256:" in line(answer)
    found = oneoff("verify", made / "signed", "--key", keys / "steward.pub", "--json").json["origin"]
    assert (found["signed"], found["vouched"], found["owner"]) == (True, True, "steward@clinic")
    other = oneoff("verify", made / "insider" / "public", "--key", keys / "other.pub", "--json")
    assert (other.status, other.json["origin"]["owner"]) == (0, None)


def test_a_signature_that_nobody_asked_about_proves_nothing(made: Path, public: Path, keys: Path) -> None:
    signed = oneoff("verify", made / "signed" / "public")
    assert (signed.status, "it is signed, and --key PUB says" in line(signed)) == (0, True)
    unsigned = oneoff("verify", public, "--key", keys / "steward.pub")
    assert (unsigned.status, "Nobody vouches for it: it is not signed" in line(unsigned)) == (4, True)
    assert not library.verify(public, keys / "steward.pub").holds, "who names a key wants it"
    assert library.verify(public).holds


def test_values_exchanged_between_groups_are_found_by_the_signature(made: Path, keys: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "signed" / "public", tmp_path / "public")
    frame = pq.read_table(tmp_path / "public" / "data.parquet")
    values, group = frame["occupation"].to_pylist(), frame["group"].to_pylist()
    swaps = ((i, j) for i in range(40) for j in range(i) if group[i] != group[j] and values[i] != values[j])
    for i, j in swaps:
        moved = [*values]
        moved[i], moved[j] = values[j], values[i]
        place = frame.column_names.index("occupation")
        column = pa.array(moved, frame["occupation"].type)
        forge(tmp_path / "public", {}, frame.set_column(place, "occupation", column))
        try:
            if oneoff("verify", tmp_path / "public", "--json").json["holds"]:
                break
        except KeyError:
            continue
    else:
        pytest.fail("no exchange keeps the promise")
    answer = oneoff("verify", tmp_path / "public", "--key", keys / "steward.pub")
    assert answer.status == 1
    assert "its signature is not that of steward@clinic" in line(answer)
    assert not library.verify(tmp_path / "public", keys / "steward.pub").holds


@pytest.mark.parametrize("content", [b"", b"x" * 63, b"x" * 64, b"x" * 10_000])
def test_no_other_bytes_are_a_signature(content: bytes, public: Path, keys: Path) -> None:
    (public / "release.json.sig").write_bytes(content)
    assert origin_of(public, keys / "steward.pub").refuted


def test_keys_that_cannot_be_used_are_refused_before_the_work(people: Path, keys: Path, tmp_path: Path) -> None:
    (tmp_path / "nonsense").write_text("no key")
    for path in (keys / "steward.pub", keys / "other.pub", keys / "locked", tmp_path / "nonsense", tmp_path / "none"):
        answer = oneoff("anonymize", people, *ROLES, "--sign", path, "--out", tmp_path / "out")
        assert (answer.status, "ssh-keygen" in answer.err, (tmp_path / "out").exists()) == (2, True, False)
    with pytest.raises(BadValue, match="a public key, which cannot sign"):
        signer(keys / "steward.pub")


def test_a_private_key_is_none_to_verify_with(made: Path, keys: Path) -> None:
    for path in (keys / "steward", keys / "other.pem"):
        with pytest.raises(BadValue, match="a private key, which nobody should pass on"):
            origin_of(made / "signed" / "public", path)
    with pytest.raises(UnreadableFile, match="cannot be read"):
        origin_of(made / "signed" / "public", keys)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_ssh_keygen_makes_such_keys(made: Path, tmp_path: Path) -> None:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "me", "-f", str(tmp_path / "key")]
    subprocess.run(command, check=True)
    listed = subprocess.run(
        ["ssh-keygen", "-lf", str(tmp_path / "key.pub")], capture_output=True, text=True, check=True
    )
    asked = origin_of(made / "signed" / "public", tmp_path / "key.pub")
    assert (asked.refuted, asked.owner, asked.key in listed.stdout) == (True, "me", True)
    assert len(signer(tmp_path / "key")(b"something")) == 64


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_openssl_makes_such_keys_and_checks_such_signatures(made: Path, keys: Path, tmp_path: Path) -> None:
    key, public = tmp_path / "key.pem", made / "insider" / "public"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(key)], check=True, capture_output=True)
    assert len(signer(key)(b"something")) == 64
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(keys / "other.pub"), "-rawin"]
    files = ["-in", str(public / "release.json"), "-sigfile", str(public / "release.json.sig")]
    assert subprocess.run([*command, *files], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("name", ["release.json", SIGNATURE])
def test_what_is_no_plain_file_is_not_opened(name: str, public: Path) -> None:
    """Nobody may ever write to a pipe, and some devices have no end."""
    (public / name).unlink(missing_ok=True)
    (public / name).symlink_to("/dev/null")
    with pytest.raises((DamagedRelease, UnreadableFile)) as refused:
        load_release(public) if name == "release.json" else origin_of(public, None)
    assert "no plain file" in refused.value.got
