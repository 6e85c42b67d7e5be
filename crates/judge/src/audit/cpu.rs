//! Frequency, turbo, threads, mitigations: Documentation/admin-guide/pm/{cpufreq,intel_pstate,amd-pstate}.rst, hw-vuln/.

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
    let leaning = preference.map_or(String::new(), |preference| format!(", preference {preference}"));
    let found = format!("governor {governor} of {driver}{leaning} on CPUs {}", policy.cpus);
    let subject = "CPU frequency";
    // Drivers that leave frequency to the hardware have but two governors, and `powersave` means "as the hardware sees fit".
    let by_hardware = matches!(driver, "intel_pstate" | "amd-pstate-epp") || preference.is_some();
    let leans_to_speed = matches!(preference, Some("performance" | "balance_performance"));
    if governor == "performance" {
        return good("cpu-frequency", subject, found, "The CPU does not have to speed up before it can send a flush.");
    }
    let command = "cpupower frequency-set --governor performance";
    if by_hardware && leans_to_speed {
        let why =
            "The hardware speeds up by itself and leans to speed: what is left to win is a few microseconds a commit.";
        return good("cpu-frequency", subject, found, why);
    }
    if governor == "powersave" && !by_hardware {
        let why =
            "The CPU stays at its lowest frequency: every system call of a commit takes two to four times as long.";
        return with_command(costs("cpu-frequency", subject, found, why), "Let it run at speed.", command);
    }
    let why = "A commit sleeps while the drive works, so that the CPU is slow when it wakes: each commit begins before the frequency has risen.";
    with_command(
        costs("cpu-frequency", subject, found, why),
        "Where commits are on the critical path, keep the frequency up.",
        command,
    )
}

fn turbo(on: bool) -> AuditLine {
    if on {
        good(
            "turbo",
            "Turbo",
            "allowed",
            "One commit keeps one core busy, which then may run above its nominal frequency.",
        )
    } else {
        let why = "The path of a commit through the kernel is one core's work, and that core may not run above its nominal frequency.";
        advised(
            costs("turbo", "Turbo", "off", why),
            "Allow it in the firmware, or with `echo 0 > /sys/devices/system/cpu/intel_pstate/no_turbo` or `echo 1 > /sys/devices/system/cpu/cpufreq/boost`, whichever is there.",
        )
    }
}

fn smt(active: bool) -> AuditLine {
    let found = if active { "two threads share a core" } else { "one thread a core" };
    good("smt", "SMT", found, "It matters for a commit only where its thread shares a core with a busy one.")
}

/// Those that make every entry into the kernel dearer.
const COSTLY: [&str; 4] = ["meltdown", "mds", "retbleed", "spectre_v2"];

fn mitigations(host: &HostFacts) -> Option<AuditLine> {
    let all = &host.cpu.mitigations;
    if all.is_empty() {
        return None;
    }
    let mitigated = |name: &&str| all.iter().any(|one| one.name == **name && one.state.starts_with("Mitigation"));
    let costly: Vec<&str> = COSTLY.iter().copied().filter(|name| mitigated(name)).collect();
    let found = format!("{} of this processor's weaknesses, {} of them mitigated", all.len(), {
        all.iter().filter(|one| one.state.starts_with("Mitigation")).count()
    });
    Some(if costly.is_empty() {
        good("mitigations", "Mitigations", found, "None of those in force makes system calls noticeably dearer.")
    } else {
        let why = "They make every system call dearer, by 0.1 to 1 µs. A commit needs two, so that they count only where a commit takes less than some 20 µs.";
        good("mitigations", "Mitigations", format!("{found}; {} cost time in system calls", costly.join(", ")), why)
    })
}
