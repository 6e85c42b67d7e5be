#!/usr/bin/env bash
# Checks the units of fleet/systemd: systemd accepts every line, the calendar expression recurs
# weekly, and the command reports a check.conf without targets.
#
# Needs systemd (systemd-analyze) 247 or later, and no root.
set -euo pipefail
cd "$(dirname "$0")/../systemd"

if ! command -v systemd-analyze >/dev/null; then
    echo "systemd.sh needs systemd-analyze (Debian package systemd)" >&2
    exit 2
fi

fail() {
    echo "systemd.sh: $*" >&2
    exit 1
}

# `verify` exits with 0 for unknown settings, and only prints a warning. The units of the machine
# that it loads as dependencies may have warnings, too.
complaints=$(systemd-analyze verify ./flushmark-check.service ./flushmark-check.timer 2>&1 |
    grep -i flushmark || true)
[ -z "$complaints" ] || fail "systemd-analyze verify: $complaints"

systemd-analyze security --offline=true --threshold=40 ./flushmark-check.service >/dev/null ||
    fail "the sandbox is weaker than 4.0 in systemd-analyze security"

calendar=$(sed -n 's/^OnCalendar=//p' flushmark-check.timer)
seconds=$(systemd-analyze calendar --iterations=2 "$calendar" |
    sed -n 's/.*\(Next elapse\|Iter. #2\|Iteration #2\): //p' | xargs -d '\n' -I{} date -d {} +%s |
    xargs)
read -r first second <<<"$seconds"
# A change between winter and summer time moves it by an hour.
difference=$(((second - first) / 3600))
((difference >= 167 && difference <= 169)) || fail "$calendar recurs after $difference hours"

# Each variable of the example has a name that the service or flushmark reads.
while read -r name; do
    case $name in
    FLUSHMARK_TARGETS | FLUSHMARK_ARGUMENTS | FLUSHMARK_STORE | PGPASSWORD) ;;
    *) fail "check.conf sets the unknown variable $name" ;;
    esac
done < <(sed -n 's/^#\{0,1\}\([A-Z_]*\)=.*/\1/p' check.conf)

# The shell command of ExecStart, with a flushmark that prints its arguments.
directory=$(mktemp -d)
trap 'rm -r "$directory"' EXIT
cat >"$directory/flushmark" <<'END'
#!/bin/sh
echo "$*"
case $* in *bad*) exit 4 ;; esac
END
chmod +x "$directory/flushmark"
# systemd joins continued lines, removes the quotes and reads $$ as $.
command=$(sed -n '/^ExecStart=/,/[^\\]$/p' flushmark-check.service | tr -d '\\\n' |
    sed "s/^ExecStart=[^']*'//; s/'\$//; s/\\\$\\\$/\$/g")
checks() {
    env PATH="$directory:/usr/bin:/bin" "$@" /bin/sh -fc "$command"
}

expected='check --quiet --fail-on general -- /srv/bad
check --quiet --fail-on general -- /srv/*'
status=0
printed=$(checks FLUSHMARK_TARGETS='/srv/bad /srv/*' FLUSHMARK_ARGUMENTS='--fail-on general') ||
    status=$?
[ "$printed" = "$expected" ] || fail "ran: $printed"
[ "$status" = 4 ] || fail "a failed check ended with status $status instead of 4"
if printed=$(checks 2>&1); then
    fail "it succeeded without FLUSHMARK_TARGETS"
fi
case $printed in
*"is not set in /etc/flushmark/check.conf"*) ;;
*) fail "without FLUSHMARK_TARGETS it printed: $printed" ;;
esac

echo "systemd: ok"
