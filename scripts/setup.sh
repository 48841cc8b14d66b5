#!/usr/bin/env bash
# Installs the Debian packages that `make run` and `make test` need, and says so; does nothing when they are there.
#
# usage: scripts/setup.sh [build | test] [PACKAGE...]
#
# build: what compiling and the demo need; test (default): all of it. PACKAGE: these too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(gcc libc6-dev)
if [[ ${1:-test} == test ]]; then
    while read -r package _; do packages+=("$package"); done < <(grep -v '^#' tests/clients/packages.txt)
    packages+=(psmisc procps python3-venv)
fi
packages+=("${@:2}")

command -v cargo >/dev/null || {
    echo "cargo is missing: install Rust 1.91 or newer from https://rustup.rs" >&2
    exit 1
}
if ! command -v dpkg-query >/dev/null; then
    echo "not a Debian system: make sure that these are installed: ${packages[*]}"
    exit 0
fi

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null || true)
    [[ $status == 'install ok installed' ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

root=()
if ((EUID != 0)); then
    command -v sudo >/dev/null || {
        echo "these packages are missing, and only root can install them: ${missing[*]}" >&2
        exit 1
    }
    root=(sudo)
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
install=("${root[@]}" apt-get install --yes --quiet --no-install-recommends "${missing[@]}")
# The package lists may be old or absent: fetch them only if it does not go without.
"${install[@]}" || { "${root[@]}" apt-get update --quiet && "${install[@]}"; }
