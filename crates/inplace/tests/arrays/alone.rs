//! An array that is open in a program is opened by nobody else there, and nothing is made of its devices.

use std::sync::Arc;

use cygnus_engine::ArrayError;
use cygnus_inplace::{Array, CreateOptions, Level, create};
use cygnus_runtime::Runtime;
use cygnus_types::ByteSize;

use crate::oracle::{Bench, Quiet, members};

#[test]
fn one_array_at_a_time_works_with_a_device() {
    let n = members(Level::Raid5);
    let bench = Bench::new(Level::Raid5, 77, n);
    let devices = bench.world.infos(&bench.disks)[..n].to_vec();
    let body = |rt: Runtime, array: Array| async move {
        let open = || Array::open(&rt, &devices, None, Arc::new(Quiet));
        assert!(matches!(open().await.map(drop), Err(ArrayError::Open(_))));
        let by_force = CreateOptions {
            name: "other".into(),
            level: Level::Raid5,
            chunk: ByteSize::kib(16),
            force: true,
            blank: true,
        };
        assert!(matches!(create(&rt, &devices, &by_force).await, Err(ArrayError::Open(_))));
        array.close().await.unwrap();
        open().await.unwrap().close().await.unwrap();
    };
    bench.with(|member| member < n, body).unwrap();
    assert_eq!(bench.unfit(), (0, false));
}
