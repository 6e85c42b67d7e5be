#!/usr/bin/env bash
# Checks fleet/kubernetes without a cluster: kustomize builds every base and example, the results
# are valid by the schemas of Kubernetes, and the containers are restricted as intended.
#
#   kubernetes.sh [PROGRAM]
#
# With PROGRAM, a built flushmark, and as root, it also runs the command of the Jobs as a container
# would: as their user, without capabilities, on a read-only root filesystem.
#
# Needs kubectl 1.27 or later and kubernetes-validate (PyPI; it contains the schemas). With PROGRAM,
# also util-linux (unshare, setpriv).
set -euo pipefail
cd "$(dirname "$0")/../kubernetes"

for needed in kubectl kubernetes-validate; do
    command -v "$needed" >/dev/null || {
        echo "kubernetes.sh needs $needed" >&2
        exit 2
    }
done

fail() {
    echo "kubernetes.sh: $*" >&2
    exit 1
}

work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
for directory in pvc nodes examples/pvc examples/nodes; do
    built=$work/${directory/\//-}.yaml
    kubectl kustomize "$directory" >"$built"
    # 1.29 is the first version with backoffLimitPerIndex switched on.
    for version in 1.29 1.37; do
        kubernetes-validate --strict --quiet -k "$version" "$built" ||
            fail "$directory is not valid for Kubernetes $version"
    done
    for line in 'runAsNonRoot: true' 'readOnlyRootFilesystem: true' '- ALL' \
        'allowPrivilegeEscalation: false' 'type: RuntimeDefault' \
        'automountServiceAccountToken: false' 'cpu: "2"'; do
        grep --quiet -e "^ *$line$" "$built" || fail "$directory does not contain: $line"
    done
    ! grep --quiet 'limits:' "$built" || fail "$directory sets a limit"
done

# contains FILE LINE...: an overlay replaced what it should.
contains() {
    local file=$work/$1 line
    shift
    for line in "$@"; do
        grep --quiet -e "^ *$line$" "$file" || fail "$(basename "$file") does not contain: $line"
    done
}
contains examples-pvc.yaml 'name: flushmark-fast-ssd' 'claimName: flushmark-fast-ssd' \
    'storageClassName: fast-ssd' 'storage: 100Gi' 'image: images.example.org/flushmark:0.1.0' \
    'name: flushmark-store' '- name: PGPASSWORD'
contains examples-nodes.yaml 'completions: 3' 'parallelism: 3' 'completionMode: Indexed' \
    'topologyKey: kubernetes.io/hostname' 'path: /mnt/nvme/flushmark' 'type: Directory' \
    'image: images.example.org/flushmark:0.1.0'

if [ $# -gt 0 ]; then
    program=$(realpath "$1")
    [ "$(id -u)" = 0 ] || {
        echo "kubernetes.sh needs root to run PROGRAM" >&2
        exit 2
    }
    user=$(sed -n 's/^ *runAsUser: //p' "$work/pvc.yaml")
    # /mnt stands for the volume. The suite of `check`, shortened.
    # shellcheck disable=SC2016
    unshare --mount --pid --fork bash -euc '
        mount --make-rprivate /
        mount -t tmpfs -o "uid=$1,size=256M" tmpfs /mnt
        mount -o remount,bind,ro /
        exec env -i FLUSHMARK_STORE=none setpriv --reuid "$1" --regid "$1" --clear-groups \
            --no-new-privs --bounding-set=-all --inh-caps=-all \
            "$2" run check --smoke --target /mnt --quiet --format json' \
        bash "$user" "$program" >"$work/result.json" 2>"$work/errors" ||
        fail "flushmark failed as in a container: $(cat "$work/errors")"
    grep --quiet flushmark/run/1 "$work/result.json" || fail "flushmark printed no document"
    [ ! -s "$work/errors" ] || fail "flushmark complained: $(cat "$work/errors")"
fi

echo "kubernetes: ok"
