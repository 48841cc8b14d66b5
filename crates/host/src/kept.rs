//! What a server that was killed has left in memory: whoever changes its array has to put that on the members first, or what
//! was acknowledged is lost. The state directory knows where the last server kept it; there is a usual place; and should the state
//! directory be lost, a sign at the usual place tells of any other one.

use cygnus_runtime::Keeper;
use cygnus_types::Uuid;
use cygnus_uring::KeptAt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Who may have it, of an array whose servers were told these directories: each once, and the usual one.
pub fn keepers<'a>(dirs: impl IntoIterator<Item = &'a Path>, array: Uuid) -> Vec<Arc<dyn Keeper>> {
    let elsewhere = KeptAt::elsewhere(array);
    let dirs = dirs.into_iter().map(Path::to_owned);
    let mut all: Vec<PathBuf> = Vec::new();
    for dir in dirs.chain([KeptAt::USUAL.into()]).chain(elsewhere) {
        if !all.contains(&dir) {
            all.push(dir);
        }
    }
    all.into_iter().map(|dir| Arc::new(KeptAt::new(&dir, array)) as Arc<dyn Keeper>).collect()
}

/// What a server has left somewhere, in words that say so of it: "has left writes in" the place, or "may have", and why nobody knows.
/// Whether it is believed depends on the array's last session.
pub fn left_at(keepers: &[Arc<dyn Keeper>]) -> Option<String> {
    let some_at = |keeper: &Arc<dyn Keeper>| match keeper.left() {
        Ok(Some(file)) if file.len().is_ok_and(|len| len > 0) => Some(format!("has left writes in {}", keeper.place())),
        Ok(_) => None,
        Err(why) => Some(format!("may have left writes in {} ({why})", keeper.place())),
    };
    keepers.iter().find_map(some_at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn each_directory_is_looked_at_once_and_the_usual_one_always() {
        let places = |dirs: &[&str]| -> Vec<String> {
            keepers(dirs.iter().map(Path::new), Uuid([7; 16])).iter().map(|keeper| keeper.place()).collect()
        };
        let file = format!("cygnus-{}", Uuid([7; 16]));
        assert_eq!(places(&[]), [format!("/dev/shm/{file}")]);
        assert_eq!(places(&["/run/a", "/dev/shm", "/run/a"]), [format!("/run/a/{file}"), format!("/dev/shm/{file}")]);
    }

    #[test]
    fn a_file_without_anything_in_it_was_left_by_nobody() {
        let scratch = Scratch::new_in(Path::new(KeptAt::USUAL), "kept").unwrap();
        let all = keepers([scratch.path()], Uuid([8; 16]));
        let file = all[0].begin().unwrap();
        assert_eq!(left_at(&all), None);
        file.write(0, b"left").unwrap();
        assert_eq!(left_at(&all), Some(format!("has left writes in {}", all[0].place())));
        all[0].end();
    }
}
