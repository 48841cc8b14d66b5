#!/usr/bin/env bash
# Tests the Python package with the program that was built here (target/debug/cygnus), in an environment below target/.
#
# usage: python/test.sh [ray]
#
# ray: on Ray too, which is downloaded (75 MB). Without Python or pip nothing is tested, which is said, and is a failure under CI=true.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

skip() {
    echo "SKIPPED: the Python package is not tested: $1" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
}

command -v python3 >/dev/null || skip "python3 is missing (Debian: python3, python3-venv)"
environment=$PWD/target/python
[[ -x $environment/bin/pip ]] || python3 -m venv "$environment" || skip "no environment can be made (Debian: python3-venv)"

extras=test
[[ ${1:-} == ray ]] && extras=test,ray
"$environment/bin/pip" install --quiet --disable-pip-version-check "./python[$extras]" || skip "pip cannot install what it needs"

tests=(python/tests/test_sweep.py)
[[ ${1:-} == ray ]] && tests+=(python/tests/test_ray.py)
CYGNUS=${CYGNUS:-$PWD/target/debug/cygnus} "$environment/bin/python" -m pytest -q -p no:cacheprovider "${tests[@]}"
