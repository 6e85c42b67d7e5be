# Runs trace-cmd in a mount namespace of its own; $0 is a directory with the files `one` and `empty`.
# Some kernels refuse changes of the function tracer, whose controls trace-cmd resets in any case:
# there it gets ordinary files instead.
set -e
# It would use tracefs in debugfs if there is one.
umount /sys/kernel/debug/tracing 2> /dev/null || true
test ! -d /sys/kernel/debug || mount -t tmpfs none /sys/kernel/debug
cd /sys/kernel/tracing
test -d events || { mount -t tracefs tracefs /sys/kernel/tracing; cd /sys/kernel/tracing; }
enabled=/proc/sys/kernel/ftrace_enabled
test ! -e $enabled || (echo 1 > $enabled) 2> /dev/null || mount --bind "$0/one" $enabled
for control in set_ftrace_filter set_ftrace_notrace set_ftrace_pid set_ftrace_notrace_pid \
    set_graph_function set_graph_notrace; do
    test ! -e $control || (: >> $control) 2> /dev/null || mount --bind "$0/empty" $control
done
exec trace-cmd "$@"
