"""The methods as values: from data sets to a folder of trained networks. PyTorch is imported to train or predict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shiftbench.errors import ArrayError, SettingsError
from shiftbench.methods.contract import DEEP, Fitted, Job, Method, Prepared
from shiftbench.methods.member_files import best_steps
from shiftbench.methods.trajectories import settings as of
from shiftbench.methods.trajectories.dataset import digest, training_problems

if TYPE_CHECKING:
    from shiftbench.ensembles import Mixture, Trajectories
    from shiftbench.methods.trajectories.dataset import TrajectoryDataset


def of_trajectories(name: str, title: str, settings: type[of.TrajectorySettings]) -> Method:
    """A method that trains networks of the given name.

    A fit that was killed resumes from about a minute before when called again. The folder holds `settings.json`,
    and for each member its weights and, written last, a file with their hash.
    """
    return Method(
        name, title, settings, lambda job: prepare(name, job), answer, describe,
        train=lambda job, _data: train_missing(job), libraries=("torch",), extra="neural",
        ensembles=(DEEP, "dropout", "mc_dropout"),
    )  # fmt: skip


def prepare(method: str, job: Job) -> Prepared:
    """Check both data sets; returns what distinguishes this fit from any other.

    Raises:
        ArrayError: naming requests whose targets are not finite, or too few requests.
        SettingsError: if train and dev have inputs of different forms.
    """
    from shiftbench.methods.trajectories import member

    parts = {"train": job.train, "dev_in": job.dev}
    if problems := training_problems(job.train, "train", least=2) + training_problems(job.dev, "dev_in", least=1):
        raise ArrayError(*problems)
    record: dict[str, Any] = {"method": method, "settings": job.settings.to_dict()}
    shapes = [member.shapes(record, part) for part in parts.values()]
    if shapes[0] != shapes[1]:
        raise SettingsError(f"dev_in: expected inputs of the shapes of train {shapes[0]}, found {shapes[1]}.")
    read = member.reader(record)
    data = {
        **{name: len(part) for name, part in parts.items()},
        "horizon": int(job.train.targets.shape[1]),
        "sha256": [digest(part, read) for part in parts.values()],
    }
    return Prepared({"inputs": shapes[0], "data": data, "libraries": job.libraries})


def train_missing(job: Job) -> None:
    """Train members that are missing or incomplete in the folder of the fit; keep the weights that are best on dev_in.

    Raises:
        ArrayError: naming a request whose inputs are not finite.
        ShiftbenchError: if a loss is not finite, naming the request.
    """
    from shiftbench.methods import member_training
    from shiftbench.methods.trajectories import member

    folder, parts = job.folder, (job.train, job.dev)
    member_training.train_missing(
        folder,
        member_training.MemberTraining(
            job.settings.members,
            member.schedule(job.settings.to_dict(), len(job.train), seed=0).steps,
            lambda number, report: member.train(folder, parts, number, report=report),
            member.__name__,
            member_training.sharing(folder, parts),
        ),
        cores=job.cores,
        progress=job.progress,
    )


def answer(dataset: TrajectoryDataset, fitted: Fitted) -> Trajectories | Mixture:
    """The mixture of each member for each request (`vector`), or its Q plans, all scored under all members: every
    number of members and every aggregation of robust imitative planning follow from them.

    "deep": the K networks are the members. "dropout": each of the K networks under dropout masks (the published
    dropout ensemble, Shifts 1.0, Appendix E.4). "mc_dropout": the first network under K sets of masks. Member k scores
    all plans under its own set of masks and samples each of its Q plans under a further one. Masks are drawn from the
    seed and the same for all requests. A plan's random numbers are derived from the request's map, so results do not
    depend on blocks, cores or the order of the requests.

    The result is held in memory: 4 bytes for each number of plans [K, N, Q, T, 2] and 8 for each score [K, N, K·Q],
    12 KB a request with 5 members of 10 plans, 6 GB for 500,000; or of modes [K, N, D, T, 2] and each weight. Blocks
    add little.
    """
    from shiftbench.methods.trajectories import answers

    return answers.predict(dataset, fitted)


def describe(_dataset: TrajectoryDataset, fitted: Fitted) -> str:
    """The number of networks, and the step at which each was best."""
    members = fitted.record["settings"]["members"]
    return f"{members} networks that differ by seed (best after {best_steps(fitted.folder, members)})"


CLONING = of_trajectories("cloning", "Behavioural cloning", of.CloningSettings)
IMITATIVE = of_trajectories("imitative", "Deep imitative model", of.PlannerSettings)
VECTOR = of_trajectories("vector", "Mixtures of trajectories from vector features", of.VectorSettings)
