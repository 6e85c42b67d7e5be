#!/usr/bin/env bash
# Tests the collection of fleet/ansible on three hosts of this machine (hosts.sh):
#
#   ansible.sh PROGRAM [DIRECTORY]
#
# PROGRAM is a built flushmark. DIRECTORY, where everything is kept while the test runs, must not
# exist; the default is /tmp/fleet-test. Takes five to ten minutes.
#
# Needs root, what hosts.sh needs, ansible-playbook and ansible-galaxy (ansible-core 2.16 or later),
# ansible-lint, yamllint, dpkg-deb, and a PostgreSQL server (initdb, pg_ctl, psql; a user
# `postgres`).
set -euo pipefail

tests=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 1 ] || [ ! -x "$1" ]; then
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
fi
program=$(realpath "$1")
directory=${2:-/tmp/fleet-test}

# Debian keeps the programs of a PostgreSQL server out of the search path.
for bin in /usr/lib/postgresql/*/bin; do PATH=$PATH:$bin; done
for needed in ansible-playbook ansible-galaxy ansible-lint yamllint dpkg-deb initdb pg_ctl psql \
    runuser; do
    command -v "$needed" >/dev/null || {
        echo "ansible.sh needs $needed" >&2
        exit 2
    }
done
if [ -e "$directory" ]; then
    echo "ansible.sh: $directory exists" >&2
    exit 2
fi

clean_up() {
    status=$?
    if [ -e "$directory/pg/postmaster.pid" ]; then
        runuser -u postgres -- "$(command -v pg_ctl)" -D "$directory/pg" -m immediate stop \
            >/dev/null || true
    fi
    if [ "$status" != 0 ] && [ -e "$directory/log" ]; then
        cat "$directory/log"
    fi
    cd /
    "$tests/hosts.sh" stop "$directory"
    exit "$status"
}
trap clean_up EXIT

fail() {
    echo "ansible.sh: $*" >&2
    exit 1
}

"$tests/hosts.sh" start "$directory" one two three
cd "$directory"
export HOME=$directory/home ANSIBLE_HOME=$directory/ansible
export ANSIBLE_NOCOLOR=1 LC_ALL=C.UTF-8
export ANSIBLE_PIPELINING=1
mkdir home host_vars

echo "build, lint"
"$tests/collection.sh" install "$directory"
"$tests/collection.sh" lint "$directory" || fail "the collection is not clean"
export ANSIBLE_COLLECTIONS_PATH=$directory/collections

# play STATUS PLAYBOOK ARGUMENT...: runs a playbook, which must end with this status.
play() {
    local expected=$1 playbook=$2 status=0
    shift 2
    ansible-playbook -i inventory.ini "flushmark.fleet.$playbook" -e @vars.yml "$@" \
        >log 2>&1 </dev/null || status=$?
    [ "$status" = "$expected" ] || fail "$playbook $* ended with $status, not $expected"
}

# prints PATTERN...: the last playbook printed a line that matches each of them.
prints() {
    local pattern
    for pattern in "$@"; do
        grep --quiet -e "$pattern" log || fail "the playbook did not print: $pattern"
    done
}

nothing_changed() {
    ! grep --quiet 'changed=[1-9]' log || fail "the playbook changed something"
}

# on HOST COMMAND: as the user `bench` of this host.
on() {
    local address
    address=$(sed -n "s/^$1 ansible_host=//p" inventory.ini)
    shift
    ssh -i key -o UserKnownHostsFile=known_hosts -o BatchMode=yes "bench@$address" "$@"
}

sha256=$(sha256sum "$program" | cut -d ' ' -f 1)
version=$("$program" -V)
binary=(-e "flushmark_binary=$program" -e "flushmark_sha256=$sha256")
# A model of a drive is measured in virtual time: a check takes a second. Its result is the same
# each time, so each host has another model, or their documents would be one to the store.
echo 'flushmark_targets: ["sim:samsung-980-1tb"]' >host_vars/one.yml
echo 'flushmark_targets: ["sim:enterprise-sata", /dev/shm/a]' >host_vars/two.yml
echo 'flushmark_targets: ["sim:enterprise-nvme"]' >host_vars/three.yml
cat >vars.yml <<END
flushmark_collected: $directory/collected
flushmark_controller_program: $program
flushmark_controller_store: $directory/controller.db
END

echo "install: check mode, twice, a wrong checksum"
play 2 check
prints 'No host has flushmark' 'Failed: one, two, three'
play 0 install "${binary[@]}" --check
prints 'one .*changed=2 ' 'two .*changed=2 ' 'three .*changed=2 '
! on one test -e .local || fail "check mode created a directory"
play 0 install "${binary[@]}"
prints 'one .*changed=2 ' 'two .*changed=2 ' 'three .*changed=2 '
play 0 install "${binary[@]}"
nothing_changed
play 0 install "${binary[@]}" --check
nothing_changed
play 2 install -e "flushmark_binary=$program" -e flushmark_sha256=0 --limit one
prints 'Nothing was installed'
play 2 install -e "flushmark_package=$program" -e "flushmark_sha256=$sha256" --limit one
prints 'a .deb or .rpm file'

echo "install as root, with the weekly check"
weekly=(--limit one --become -e flushmark_service=true)
play 0 install "${binary[@]}" "${weekly[@]}" --check
! on one test -e /etc/flushmark || fail "check mode created /etc/flushmark"
# The password has every character that the file of settings quotes.
cat >password.yml <<'END'
flushmark_store_password: 'a"b\c$d`e''f:g'
END
play 0 install "${binary[@]}" "${weekly[@]}" -e @password.yml
on one systemctl is-active --quiet flushmark-check.timer || fail "the timer is not active"
on one systemctl is-enabled --quiet flushmark-check.timer || fail "the timer is not enabled"
on one sudo systemd-run --quiet --wait --pipe -p EnvironmentFile=/etc/flushmark/check.conf \
    printenv PGPASSWORD >password
[ "$(cat password)" = "a\"b\\c\$d\`e'f:g" ] || fail "the service got the password $(cat password)"
play 0 install "${binary[@]}" "${weekly[@]}" -e @password.yml
nothing_changed
play 0 install "${binary[@]}" "${weekly[@]}"
prints 'one .*changed=1 '

echo "the weekly check runs in its sandbox"
on one sudo mkdir -p /srv/data
on one sudo chown bench /srv/data
on one sudo tee /etc/flushmark/check.conf >/dev/null <<'END'
FLUSHMARK_TARGETS="sim:samsung-980-1tb /srv/missing /srv/data"
FLUSHMARK_ARGUMENTS="--store /var/lib/flushmark/results.db"
END
status=0
on one sudo systemctl start flushmark-check.service 2>/dev/null || status=$?
on one sudo journalctl --quiet --unit flushmark-check.service >log
[ "$status" != 0 ] || fail "the service succeeded, although a target is missing"
prints '/srv/missing does not exist' 'status=2/INVALIDARGUMENT'
on one sudo /usr/local/bin/flushmark results list --store /var/lib/flushmark/results.db >log
prints '/srv/data' 'Samsung 980'
[ -z "$(on one ls -A /srv/data)" ] || fail "the service left files behind"
on one sudo systemctl reset-failed flushmark-check.service

echo "remove the weekly check"
play 2 install "${binary[@]}" --limit one
prints 'Removing it takes root'
play 0 install "${binary[@]}" --limit one --become --check
on one test -e /etc/systemd/system/flushmark-check.timer || fail "check mode removed the timer"
play 0 install "${binary[@]}" --limit one --become
! on one test -e /etc/systemd/system/flushmark-check.timer || fail "the timer was not removed"
! on one systemctl is-active --quiet flushmark-check.timer || fail "the timer is still active"
play 0 install "${binary[@]}" --limit one --become
nothing_changed

echo "a .deb package"
mkdir -p package/DEBIAN package/usr/bin
cp "$program" package/usr/bin/flushmark
cat >package/DEBIAN/control <<END
Package: flushmark
Version: ${version#flushmark }
Architecture: $(dpkg --print-architecture)
Maintainer: nobody <nobody@example.org>
Description: measures what a durable write costs
END
dpkg-deb -Znone --build package flushmark.deb >/dev/null
package=(-e flushmark_package="$directory/flushmark.deb" --limit two --become
    -e "flushmark_sha256=$(sha256sum flushmark.deb | cut -d ' ' -f 1)")
play 0 install "${package[@]}" --check
! on two test -e /usr/bin/flushmark || fail "check mode installed the package"
play 0 install "${package[@]}"
on two /usr/bin/flushmark --version >/dev/null || fail "the package was not installed"
play 0 install "${package[@]}"
nothing_changed

echo "measure into documents, collect them twice"
play 0 check --check
nothing_changed
on two mkdir /dev/shm/a
play 0 run -e flushmark_suite=check -e '{"flushmark_arguments": ["--smoke"]}' --limit two
prints 'flushmark 0.*: two' 'Completed: two. Failed: no host'
on two rmdir /dev/shm/a
play 2 check
prints "$version: one, two, three" 'Completed: one, three. Failed: two' \
    'fatal: \[two\].*/dev/shm/a does not exist'
play 0 collect
prints 'Completed: one, two, three'
"$program" results list --store controller.db --format json >first.json
[ "$(grep --count '"id"' first.json)" = 5 ] || fail "5 runs were measured: $(cat first.json)"
"$program" results list --store controller.db --host three >log
prints 'Generic enterprise NVMe'
play 0 collect
nothing_changed
"$program" results list --store controller.db --format json | cmp - first.json ||
    fail "the second collection changed the store"

echo "a plan"
cat >nightly.toml <<'END'
[[test]]
pattern = "randwrite"
sync = "fdatasync"
END
play 0 run -e "flushmark_plan=$directory/nightly.toml" --limit one
prints 'Completed: one'
play 2 run --limit one
prints 'Set either flushmark_suite'

echo "drives, host"
play 0 drives
play 0 host
for host in one two three; do
    grep --quiet flushmark/drives/1 "collected/$host/drives.json" || fail "$host has no drives.json"
    grep --quiet flushmark/host/1 "collected/$host/host.json" || fail "$host has no host.json"
done
play 0 host
prints 'one .*failed=0'

echo "an unreachable host, and the limit"
"$tests/hosts.sh" unplug "$directory" one
play 2 check -e '{"flushmark_targets": ["sim:samsung-980-1tb"]}'
prints 'Completed: two, three. Failed: one' 'fatal: \[one\].*unreachable'
play 2 check --limit one
prints 'Failed: one'
play 0 check --limit three
prints "$version: three\"" 'Completed: three. Failed: no host'
"$tests/hosts.sh" plug "$directory" one

echo "different versions; the arguments of a group"
on three 'mkdir stub && cat >stub/flushmark && chmod +x stub/flushmark' <<'END'
#!/bin/sh
case $1 in
-V) echo flushmark 0.0.9 ;;
*) echo "arguments: $*" ;;
esac
END
echo 'flushmark_directory: /home/bench/stub' >>host_vars/three.yml
play 0 check --limit one,three
prints 'Different versions' 'flushmark 0.0.9: three' "$version: one"
play 0 run --limit three -e flushmark_suite=wal -e flushmark_group=g1 -e flushmark_hosts=3 \
    -e flushmark_start_at=2026-11-27T12:00:00Z
prints 'run wal --target sim:.* --group g1 --hosts 3 --start-at 2026-11-27T12:00:00Z"'
play 2 run --limit one,three -e flushmark_suite=wal -e flushmark_group=g1 --forks 1
prints 'with --forks 2 or more'

echo "a test that takes too long"
on three 'cat >stub/flushmark' <<'END'
#!/bin/sh
[ "$1" = -V ] && exec echo flushmark 0.0.9
exec sleep 100
END
play 2 check --limit one,three -e flushmark_timeout=2
prints 'Completed: one. Failed: three' 'took longer than flushmark_timeout'

echo "a host that is lost while it is measured"
: >log
play 2 check --limit one,three &
until grep --quiet 'Measure\]' log; do sleep 0.5; done
sleep 5
"$tests/hosts.sh" unplug "$directory" three
wait $! || exit 1
prints 'Completed: one. Failed: three' 'unreachable while it was measured'
"$tests/hosts.sh" plug "$directory" three

echo "a store in PostgreSQL, with a password"
mkdir pg
chown postgres pg
echo 'a:b\c' >pg-password
chmod 644 pg-password
runuser -u postgres -- "$(command -v initdb)" -D pg --auth=scram-sha-256 \
    --pwfile="$directory/pg-password" >/dev/null
echo 'host all all 10.213.0.0/24 scram-sha-256' >>pg/pg_hba.conf
runuser -u postgres -- "$(command -v pg_ctl)" -D pg -w -l pg/server.log \
    -o "-h 10.213.0.1 -p 5433 -k $directory/pg" start >/dev/null
url=postgres://postgres@10.213.0.1:5433/postgres
echo "flushmark_store_password: 'a:b\\c'" >password.yml
play 0 check --limit one -e "flushmark_store=$url" -e @password.yml -vvv
! grep --quiet -F -e 'a:b\c' -e 'a\:b' -e 'a\\:b' log || fail "the log contains the password"
on one 'ls /tmp' >log
! grep --quiet flushmark- log || fail "the file of the password was not removed"
PGPASSWORD='a:b\c' "$program" results list --store "$url" >log
prints 'Samsung 980'
play 2 check --limit one -e "flushmark_store=$url"
prints 'Failed: one'
play 2 check --limit one -e flushmark_store=postgres://a:b@10.213.0.1/c
prints 'set flushmark_store_password instead'

echo "ansible: ok"
