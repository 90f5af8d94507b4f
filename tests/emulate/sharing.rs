//! Events that several descriptors, threads, processes or group members share.

use crate::support::assert_prints;

#[test]
fn groups_count_together_and_are_read_together() {
    let expected = "\
before bytes 56: 3
group bytes 56 members 3: 110 53 110
reset 0 0 0
alone 1 members 1
single bytes 40 count 6 same-times 1 ran 1 lost 0
kernel-only 0
";
    assert_prints("groups", &[], &[], expected);
}

#[test]
fn descriptors_are_duplicated_inherited_and_closed_like_any_other() {
    let expected = "\
dup 6
child reads 0
parent 6
moved 100 6
flags async 1
flags none 0
unasked signals 0
after close 0
sigio 1 owner 1
exec kept 0 1 counts 1
";
    assert_prints("life", &[], &[], expected);
}

#[test]
fn threads_and_children_are_counted_where_the_attributes_say_so() {
    let expected = "\
thread plain 0 inherit 1 inherit_thread 1
child plain 0 inherit 1 inherit_thread 0
other 1
ended 1
asleep 0 by 15
";
    assert_prints("threads", &[], &[], expected);
}
