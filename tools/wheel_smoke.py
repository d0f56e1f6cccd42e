"""Builds the wheel, installs it alone into a throw-away environment and runs it there.

This checks that the wheel is complete, and that the declared dependencies suffice. The tests
cannot, because they run from the source tree with every development tool installed.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SNIPPET = """
import importlib.util
import sys
from pathlib import Path

import mycel
import mycel.errors
import mycel.testing

package = Path(mycel.__file__).parent
if not package.is_relative_to(sys.prefix):
    sys.exit(f"imported from {package}, not from the installed wheel")
if not (package / "py.typed").exists():
    sys.exit("the wheel lacks py.typed")
if importlib.util.find_spec("pytest"):
    sys.exit("the environment is not bare: pytest is there")

from mycel.explorer import bundle

if not bundle.names():
    sys.exit("the wheel lacks the explorer's page")
for name in bundle.names():
    bundle.asset(name)

mycel.open("smoke.db").close()
if not Path("smoke.db").exists():
    sys.exit("no database was created")
mycel.open("smoke.db").close()
"""


def run(*command: str | Path, cwd: Path) -> None:
    # Without PYTHONPATH, so that nothing but the environment decides what is imported.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        command, cwd=cwd, env=environment, text=True, capture_output=True, check=False
    )
    if done.returncode:
        line = " ".join(map(str, command))
        sys.exit(f"wheel smoke test failed: {line}\n{done.stdout}{done.stderr}")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="mycel-wheel-") as folder:
        work = Path(folder)
        build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", work)
        run(*build, ROOT, cwd=work)
        (wheel,) = work.glob("*.whl")
        venv.create(work / "venv", with_pip=True)
        scripts = work / "venv" / ("Scripts" if os.name == "nt" else "bin")
        python = scripts / "python"
        run(python, "-m", "pip", "install", "--quiet", wheel, cwd=work)
        run(scripts / "mycel", "--help", cwd=work)
        run(python, "-m", "mycel", "--help", cwd=work)
        run(python, "-c", SNIPPET, cwd=work)
        print(f"{wheel.name}: installs bare and runs")


if __name__ == "__main__":
    main()
