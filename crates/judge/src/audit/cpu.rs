//! Frequency, turbo, threads, mitigations:
//! Documentation/admin-guide/pm/{cpufreq,intel_pstate,amd-pstate}.rst, hw-vuln/.

use drive::HostFacts;
use drive::host::FrequencyPolicy;
use measurement::AuditLine;

use super::line::{advised, costs, good, with_command};

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    let mut lines: Vec<AuditLine> = host.cpu.frequency.iter().map(frequency).collect();
    lines.extend(host.cpu.turbo.map(turbo));
    lines.extend(host.cpu.smt_active.map(smt));
    lines.extend(mitigations(host));
    lines
}

fn frequency(policy: &FrequencyPolicy) -> AuditLine {
    let governor = policy.governor.as_deref().unwrap_or("unknown");
    let driver = policy.driver.as_deref().unwrap_or("unknown driver");
    let preference = policy.preference.as_deref();
    let leaning =
        preference.map_or(String::new(), |preference| format!(", preference {preference}"));
    let most = policy.max_mhz.map_or(String::new(), |mhz| format!(", up to {mhz} MHz"));
    let found = format!("governor {governor} of {driver}{leaning} on CPUs {}{most}", policy.cpus);
    let subject = "CPU frequency";
    // Drivers that leave the frequency to the hardware have only two governors, and `powersave`
    // means "as the hardware sees fit".
    let by_hardware = matches!(driver, "intel_pstate" | "amd-pstate-epp") || preference.is_some();
    let leans_to_speed = matches!(preference, Some("performance" | "balance_performance"));
    if governor == "performance" {
        return good(
            "cpu-frequency",
            subject,
            found,
            "The CPU need not raise its frequency before it can send a flush.",
        );
    }
    let command = "cpupower frequency-set --governor performance";
    if by_hardware && leans_to_speed {
        let why = "The hardware raises the frequency by itself and favours performance; at most a \
                   few microseconds per commit are left to gain.";
        return good("cpu-frequency", subject, found, why);
    }
    if governor == "powersave" && !by_hardware {
        let why = "The CPU stays at its lowest frequency: every system call of a commit takes two \
                   to four times as long.";
        return with_command(
            costs("cpu-frequency", subject, found, why),
            "Keep the frequency up.",
            command,
        );
    }
    let why = "A commit sleeps while the drive works, and the CPU lowers its frequency meanwhile: \
               each commit starts before the frequency has risen.";
    with_command(
        costs("cpu-frequency", subject, found, why),
        "If commits are on the critical path, keep the frequency up.",
        command,
    )
}

fn turbo(on: bool) -> AuditLine {
    if on {
        good(
            "turbo",
            "Turbo",
            "allowed",
            "A commit keeps one core busy, and that core may run above its nominal frequency.",
        )
    } else {
        let why = "The kernel's work for a commit runs on one core, and that core may not exceed \
                   its nominal frequency.";
        advised(
            costs("turbo", "Turbo", "off", why),
            "Enable it in the firmware, or with `echo 0 > \
             /sys/devices/system/cpu/intel_pstate/no_turbo` or `echo 1 > \
             /sys/devices/system/cpu/cpufreq/boost`, whichever file exists.",
        )
    }
}

fn smt(active: bool) -> AuditLine {
    let found = if active { "two threads per core" } else { "one thread per core" };
    good(
        "smt",
        "SMT",
        found,
        "It affects a commit only if its thread shares a core with a busy one.",
    )
}

/// Mitigations that slow down every entry into the kernel.
const COSTLY: [&str; 4] = ["meltdown", "mds", "retbleed", "spectre_v2"];

fn mitigations(host: &HostFacts) -> Option<AuditLine> {
    let all = &host.cpu.mitigations;
    if all.is_empty() {
        return None;
    }
    let mitigated = |name: &&str| {
        all.iter().any(|one| one.name == **name && one.state.starts_with("Mitigation"))
    };
    let costly: Vec<&str> = COSTLY.iter().copied().filter(|name| mitigated(name)).collect();
    let found = format!("{} CPU vulnerabilities listed, {} of them mitigated", all.len(), {
        all.iter().filter(|one| one.state.starts_with("Mitigation")).count()
    });
    Some(if costly.is_empty() {
        good(
            "mitigations",
            "Mitigations",
            found,
            "None of the active mitigations slows system calls down noticeably.",
        )
    } else {
        let why = "They add 0.1 to 1 µs to every system call. A commit needs two, so they matter \
                   only if a commit takes less than about 20 µs.";
        let slow = if costly.len() == 1 { "slows" } else { "slow" };
        advised(
            good(
                "mitigations",
                "Mitigations",
                format!("{found}; {} {slow} system calls down", costly.join(", ")),
                why,
            ),
            "Where only trusted code runs, measure with the kernel parameter mitigations=off; \
             leave them on everywhere else.",
        )
    })
}
