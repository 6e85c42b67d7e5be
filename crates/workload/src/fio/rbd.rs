//! The options of `ioengine=rbd`, an image of a Ceph cluster, and why there is no `ioengine=rados`.

use super::section::Section;
use crate::plan::PlanError;
use crate::target::TargetName;

/// The name of the engine.
pub(super) const RBD: &str = "rbd";
const OPTIONS: [&str; 4] = ["pool", "rbdname", "clientname", "clustername"];
/// Separates the options of a target's name and the parts of an image's path.
const SEPARATORS: [char; 2] = [':', '/'];
/// fio's engine accepts a user with or without its type if it also has the cluster's name.
const USER_TYPE: &str = "client.";

impl Section {
    /// The target of the engine, with its line; `None` if the section has another engine.
    ///
    /// # Errors
    /// Fails if the image is not named completely, or if another engine has these options.
    pub(super) fn rbd_target(&self) -> Result<Option<(usize, String)>, PlanError> {
        if self.has_engine("rados") {
            let message = "ioengine=rados is not supported: it creates an object for each file, of \
                           any size, and does not fill it before it is measured; use --target \
                           rados:POOL with another ioengine";
            return Err(self.wrong("ioengine", message));
        }
        if !self.has_engine(RBD) {
            return match OPTIONS.into_iter().find(|key| self.has_own(key)) {
                Some(key) => Err(self.wrong(key, &format!("{key} requires ioengine={RBD}"))),
                None => Ok(None),
            };
        }
        if let Some(key) = ["filename", "directory"].into_iter().find(|key| self.has(key)) {
            let message =
                format!("{key}: ioengine={RBD} has no files; remove it, rbdname is the target");
            return Err(self.wrong(key, &message));
        }
        let required = |key: &str| {
            let missing = || self.wrong("ioengine", &format!("ioengine={RBD} requires {key}"));
            self.rbd_name(key)?.ok_or_else(missing)
        };
        let mut target = format!("{}/{}", required("pool")?, required("rbdname")?);
        if let Some(user) = self.rbd_name("clientname")? {
            target += &format!(":id={}", user.strip_prefix(USER_TYPE).unwrap_or(&user));
        }
        if let Some(cluster) = self.rbd_name("clustername")? {
            target += &format!(":cluster={cluster}");
        }
        Ok(Some((self.line_of("rbdname"), TargetName::Image(&target).to_string())))
    }

    fn rbd_name(&self, key: &str) -> Result<Option<String>, PlanError> {
        self.read(key, "a name without : and /", |name| {
            let is_name = !name.is_empty() && !name.contains(SEPARATORS);
            is_name.then(|| name.to_owned())
        })
    }

    /// A sentence on how the engine differs from fio's.
    pub(super) fn rbd_note(&self) -> Option<String> {
        self.has_engine(RBD).then(|| {
            "ioengine=rbd: librbd's cache is off, unless --target rbd:POOL/IMAGE:cache=on is given; \
             fio leaves it as Ceph's configuration has it, which is on by default"
                .to_owned()
        })
    }
}
