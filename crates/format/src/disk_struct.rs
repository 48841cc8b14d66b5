//! How a structure on disk is declared: once, with the offsets checked by the compiler and the documentation's tables
//! made from the same lines.

/// Declares a `#[repr(C)]`, unaligned, little-endian structure of exactly `$size` bytes. The field comments are both
/// the Rust documentation and the rows of `docs/format.md`.
macro_rules! on_disk {
    (
        $(#[$attr:meta])*
        $vis:vis struct $name:ident: $size:literal bytes {
            $( $(#[doc = $doc:literal])+ $field:ident: $ty:ty, )+
        }
    ) => {
        $(#[$attr])*
        #[derive(
            Clone, Copy,
            zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout, zerocopy::Unaligned,
        )]
        #[repr(C)]
        $vis struct $name {
            $( $(#[doc = $doc])+ pub(crate) $field: $ty, )+
        }

        const _: () = assert!(size_of::<$name>() == $size, "size on disk changed");

        #[cfg(test)]
        impl crate::doc_check::DiskStruct for $name {
            const NAME: &'static str = stringify!($name);
            const SIZE: usize = $size;
            const FIELDS: &'static [crate::doc_check::Field] = &[
                $( crate::doc_check::Field {
                    name: stringify!($field),
                    offset: std::mem::offset_of!($name, $field),
                    size: size_of::<$ty>(),
                    meaning: concat!($($doc),+),
                }, )+
            ];
        }
    };
}
