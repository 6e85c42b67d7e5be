//! The tests in the guest.

mod cache;
mod emulated;
mod facts;
mod stacks;
mod traced;
mod write_cache_suite;
mod zoned;

use super::guest::Guest;

type Test = (&'static str, fn(&mut Guest) -> anyhow::Result<()>);

/// All tests, in the order in which they run.
pub const ALL: &[Test] = &[
    ("sizes_queues_and_media_are_those_of_lsblk", facts::lsblk),
    ("names_are_those_of_nvme_and_hdparm", facts::identities),
    ("health_is_that_of_smartctl", facts::health),
    ("an_ordinary_user_sees_what_sysfs_gives", facts::ordinary_user),
    ("contradictions_between_drive_kernel_and_filesystem_are_found", facts::contradictions),
    ("a_switch_by_flushmark_is_seen_by_the_drives_own_tools", cache::seen_by_others),
    ("a_switch_by_the_drives_own_tools_is_seen_by_flushmark", cache::sees_others),
    ("a_drive_in_use_is_refused_unless_allowed", cache::in_use),
    ("what_has_no_cache_is_refused", cache::nothing_to_switch),
    ("an_ordinary_user_is_told_what_needs_root", cache::ordinary_user),
    ("a_rule_for_udev_names_the_drive", cache::udev_rule),
    ("a_cache_is_not_left_on_where_the_kernel_would_not_flush_it", cache::kernel_would_not_flush),
    (
        "the_write_cache_suite_measures_both_settings_and_puts_back",
        write_cache_suite::both_settings,
    ),
    ("a_signal_puts_the_cache_back", write_cache_suite::signals),
    ("two_processes_do_not_switch_one_drive", write_cache_suite::locked),
    ("a_mounted_target_keeps_its_cache_unless_allowed", write_cache_suite::mounted),
    ("stacks_are_followed_down_to_drives_and_up_to_filesystems", stacks::raid_lvm_crypt),
    ("a_raid5_has_its_write_hole_unless_it_has_a_ppl", stacks::raid5),
    ("the_host_is_audited", stacks::host),
    ("a_real_kernel_makes_filesystems_on_emulated_drives", emulated::filesystems),
    ("commands_in_a_trace_are_those_that_controllers_executed", traced::drives),
    ("fua_is_emulated_for_a_disk_without_it_even_if_libata_may_use_it", traced::libata_fua),
    ("a_zoned_drive_is_recognised_and_not_written_all_over", zoned::facts),
    ("writes_advance_write_pointers_and_open_no_more_zones_than_allowed", zoned::writes),
    ("reads_of_zones_end_at_write_pointers", zoned::reads),
    ("zones_are_reset_and_verified_as_in_fio_s_examples", zoned::examples),
    ("conventional_zones_are_written_anywhere", zoned::conventional),
    ("results_carry_what_the_drive_says", facts::in_results),
    ("kernel_test_devices_are_what_they_are", facts::scsi_debug),
    ("drives_that_vanish_break_nothing", facts::vanishing),
    ("after_kill_9_and_a_reboot_restore_brings_the_old_state_back", write_cache_suite::killed),
];
