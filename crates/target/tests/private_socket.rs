//! A socket file is its owner's alone, whatever the umask. The umask belongs to the whole process, so this test has one to itself.

use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;

use cygnus_target::{BoundListener, ListenAddress};

#[test]
fn nobody_else_may_open_it_and_neither_is_the_owner_shut_out() {
    let dir = std::env::temp_dir().join(format!("cygnus-private-socket-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("x.sock");
    let address: ListenAddress = format!("unix:{}", path.display()).parse().unwrap();
    for umask in [0o000, 0o777] {
        // SAFETY: the call takes and returns a number and touches no memory of ours. It concerns the whole process, in which
        // this is the only test.
        let before = unsafe { libc::umask(umask) };
        let bound = BoundListener::bind(&address);
        // SAFETY: as above; the mask becomes what it was.
        unsafe { libc::umask(before) };
        let mode = std::fs::metadata(&path).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600, "with umask {umask:o}");
        UnixStream::connect(&path).unwrap();
        drop(bound.unwrap());
    }
    std::fs::remove_dir_all(&dir).unwrap();
}
