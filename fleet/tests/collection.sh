#!/usr/bin/env bash
# Builds the collection of fleet/ansible, and checks it:
#
#   collection.sh install DIRECTORY    # builds it, and installs it in DIRECTORY/collections
#   collection.sh lint DIRECTORY       # with yamllint and ansible-lint, where it is installed
#
# Needs ansible-galaxy (ansible-core 2.16 or later), ansible-lint and yamllint. Downloads nothing.
set -euo pipefail

tests=$(cd "$(dirname "$0")" && pwd)
if [ $# != 2 ]; then
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
fi
directory=$(realpath "$2")
export HOME=$directory/home ANSIBLE_HOME=$directory/ansible LC_ALL=C.UTF-8 ANSIBLE_NOCOLOR=1
export ANSIBLE_COLLECTIONS_PATH=$directory/collections
mkdir -p "$HOME"

case $1 in
install)
    ansible-galaxy collection build --output-path "$directory/build" "$tests/../ansible" >/dev/null
    ansible-galaxy collection install --offline -p "$directory/collections" \
        "$directory"/build/*.tar.gz >/dev/null 2>&1
    ;;
lint)
    (cd "$tests/../ansible" && yamllint --strict .) || {
        echo "collection.sh: yamllint complains" >&2
        exit 1
    }
    # This includes `ansible-playbook --syntax-check`.
    cd "$directory/collections/ansible_collections/flushmark/fleet"
    ansible-lint --nocolor -q --offline --profile production . 2>&1 || {
        echo "collection.sh: ansible-lint complains" >&2
        exit 1
    }
    ;;
*)
    echo "collection.sh: unknown order $1; expected install or lint" >&2
    exit 2
    ;;
esac
