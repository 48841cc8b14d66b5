use std::collections::BTreeMap;

use cygnus_runtime::Runtime;
use cygnus_types::BLOCK;
use cygnus_volume::BlockVolume;

use crate::error::Error;
use crate::head::{Head, LEAST};
use crate::planted::{self, Bug};
use crate::record::{Decoded, LONGEST, LONGEST_DELETION, MAX_KEY, MAX_VALUE, Record, Seat};

/// Bytes that opening reads at a time: more than the longest record has.
const PIECE: usize = 2 * LONGEST.next_power_of_two();

/// Where a record is.
#[derive(Clone, Copy)]
struct Place {
    /// Byte of the volume.
    offset: u64,
    len: u32,
}

/// How full a store is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Keys and values that are current, with what is stored beside them.
    pub live: u64,
    /// All records, those among them that a compaction drops.
    pub used: u64,
    /// What `live` may become.
    pub capacity: u64,
}

/// A key-value store on a volume: see the crate's text.
pub struct Store<V> {
    volume: V,
    rt: Runtime,
    head: Head,
    /// Bytes of records in the half in force.
    end: u64,
    index: BTreeMap<Vec<u8>, Place>,
    live: u64,
    /// Set while the header on the volume may be another one than `head`.
    unsettled: Option<Error>,
}

impl<V: BlockVolume> Store<V> {
    /// Makes an empty store. What is on the volume is destroyed.
    ///
    /// # Errors
    /// When the volume is too small, or fails; after [`Error::Unsettled`] it has to be formatted again.
    pub async fn format(rt: &Runtime, volume: V) -> Result<Self, Error> {
        let head = Head::new(volume.size(), rt.rng_u64())?;
        volume.trim(0, volume.size()).await?;
        let mut store = Self::on(rt, volume, head);
        store.publish(head).await?;
        Ok(store)
    }

    /// Opens the store that is on a volume.
    ///
    /// # Errors
    /// When there is none, when it is damaged, and when the volume fails. What is stored is as it was then, also after [`Error::Unsettled`].
    pub async fn open(rt: &Runtime, volume: V) -> Result<Self, Error> {
        if volume.size() < LEAST {
            return Err(Error::TooSmall { size: volume.size(), least: LEAST });
        }
        let block = read(rt, &volume, 0, BLOCK).await?;
        let head = Head::decode(block[..].try_into().expect("a block"))?;
        let (size, was) = (volume.size(), BLOCK as u64 + 2 * head.half_bytes);
        if size < was {
            return Err(Error::Shrunk { size, was });
        }
        let mut store = Self::on(rt, volume, head);
        store.scan().await?;
        if store.end < head.end {
            return Err(Error::Damaged { offset: head.start() + store.end });
        }
        store.publish(Head { epoch: head.epoch + 1, end: store.end, ..head }).await?;
        // A compaction that was cut short has left something there.
        store.trim_half(1 - head.half).await?;
        Ok(store)
    }

    fn on(rt: &Runtime, volume: V, head: Head) -> Self {
        Self { volume, rt: rt.clone(), head, end: 0, index: BTreeMap::new(), live: 0, unsettled: None }
    }

    /// The value of a key.
    ///
    /// # Errors
    /// When the volume fails, or what it has there is not what was written.
    pub async fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        match self.index.get(key) {
            Some(&place) => self.value(key, place).await.map(Some),
            None => Ok(None),
        }
    }

    /// Stores a value, in the place of the one that the key has.
    ///
    /// # Errors
    /// When key or value is too long, the store is full, or the volume fails; the key has the value that it had then, unless the
    /// store is opened anew before something else was stored: it may have either then.
    pub async fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        if !(1..=MAX_KEY).contains(&key.len()) {
            return Err(Error::Key(key.len()));
        }
        if value.len() > MAX_VALUE {
            return Err(Error::Value(value.len()));
        }
        self.append(key, Some(value), LONGEST_DELETION).await
    }

    /// Deletes a key; says whether it was there.
    ///
    /// # Errors
    /// As [`Store::put`], but not for a full store.
    pub async fn delete(&mut self, key: &[u8]) -> Result<bool, Error> {
        if !self.index.contains_key(key) {
            return Ok(false);
        }
        self.append(key, None, 0).await?;
        Ok(true)
    }

    /// All keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.index.keys().map(Vec::as_slice)
    }

    /// How full the store is.
    pub fn usage(&self) -> Usage {
        Usage { live: self.live, used: self.end, capacity: self.head.half_bytes - LONGEST_DELETION }
    }

    /// Makes durable what was stored and deleted before.
    ///
    /// # Errors
    /// When the volume fails.
    pub async fn flush(&self) -> Result<(), Error> {
        Ok(self.volume.flush().await?)
    }

    /// Makes all durable and notes that it is there, so that a later opening would notice if it were not. A store that is only let go of is as whole:
    /// what was flushed is there when it is opened again.
    ///
    /// # Errors
    /// When the volume fails, now or before ([`Error::Unsettled`]): the store is let go of all the same, and can be opened again.
    pub async fn close(mut self) -> Result<(), Error> {
        self.settled()?;
        self.publish(Head { end: self.end, ..self.head }).await
    }

    /// Writes what is current to the other half and trims this one. [`Store::put`] and [`Store::delete`] do so when they find no room.
    ///
    /// # Errors
    /// When the volume fails. The store is as before then; but after [`Error::Unsettled`] it has to be opened anew.
    pub async fn compact(&mut self) -> Result<(), Error> {
        self.settled()?;
        let epoch = self.head.epoch + 1;
        let to = Head { epoch, base: epoch, half: 1 - self.head.half, end: 0, ..self.head };
        if !planted::is(Bug::LeftoversCount) {
            // A compaction that failed has left records there, of the same epoch.
            self.trim_half(to.half).await?;
        }
        let (mut index, mut end) = (BTreeMap::new(), 0);
        for (key, &place) in &self.index {
            let value = self.value(key, place).await?;
            let record = Record { epoch, key, value: Some(&value) };
            let place = self.write(&to, end, record).await?;
            end += u64::from(place.len);
            index.insert(key.clone(), place);
        }
        self.publish(Head { end, ..to }).await?;
        (self.index, self.end, self.live) = (index, end, end);
        // The new half is in force; what cannot be trimmed now is when the store is opened.
        let _ = self.trim_half(1 - to.half).await;
        Ok(())
    }

    fn settled(&self) -> Result<(), Error> {
        self.unsettled.map_or(Ok(()), Err)
    }

    /// Appends a record, and leaves so many bytes of the half free.
    async fn append(&mut self, key: &[u8], value: Option<&[u8]>, spare: u64) -> Result<(), Error> {
        self.settled()?;
        let record = Record { epoch: 0, key, value };
        let len = record.len() as u64;
        let room = self.head.half_bytes - spare;
        if self.live + len > room {
            return Err(Error::Full);
        }
        if self.end + len > room {
            self.compact().await?;
        }
        let place = self.write(&self.head, self.end, Record { epoch: self.head.epoch, ..record }).await?;
        self.end += len;
        self.note(key, value.map(|_| place));
        Ok(())
    }

    /// The key's newest record is there, or it is deleted.
    fn note(&mut self, key: &[u8], place: Option<Place>) {
        let old = match place {
            Some(place) => self.index.insert(key.to_vec(), place),
            None => self.index.remove(key),
        };
        let bytes = |place: Option<Place>| place.map_or(0, |place| u64::from(place.len));
        self.live = self.live + bytes(place) - bytes(old);
    }

    /// Writes a record behind the first `end` bytes of a half.
    async fn write(&self, half: &Head, end: u64, record: Record<'_>) -> Result<Place, Error> {
        let offset = half.start() + end;
        let bytes = record.encode(Seat { salt: half.salt, offset });
        let mut buf = self.rt.alloc(bytes.len());
        buf.write(0, &bytes);
        self.volume.write(offset, buf.slice(0..bytes.len())).await?;
        Ok(Place { offset, len: bytes.len() as u32 })
    }

    async fn value(&self, key: &[u8], place: Place) -> Result<Vec<u8>, Error> {
        let bytes = read(&self.rt, &self.volume, place.offset, place.len as usize).await?;
        match Record::decode(&bytes, Seat { salt: self.head.salt, offset: place.offset }) {
            Decoded::Record(Record { key: of, value: Some(value), .. }, _) if of == key => Ok(value.to_vec()),
            _ => Err(Error::Damaged { offset: place.offset }),
        }
    }

    /// Writes a header, once all records are durable, and takes it for the one in force.
    async fn publish(&mut self, head: Head) -> Result<(), Error> {
        if !planted::is(Bug::NamedUnflushed) {
            self.volume.flush().await?;
        }
        let mut buf = self.rt.alloc(BLOCK);
        buf.write(0, &head.encode());
        // As it stays if the caller drops this call on the way.
        self.unsettled = Some(Error::Unsettled(None));
        let written = async {
            self.volume.write(0, buf.full()).await?;
            self.volume.flush().await
        };
        self.unsettled = written.await.err().map(|why| Error::Unsettled(Some(why)));
        self.settled()?;
        self.head = head;
        Ok(())
    }

    async fn trim_half(&self, half: u64) -> Result<(), Error> {
        let half = Head { half, ..self.head };
        Ok(self.volume.trim(half.start(), half.half_bytes).await?)
    }

    /// Reads all records of the half in force, up to the first that is none or a leftover.
    async fn scan(&mut self) -> Result<(), Error> {
        let mut epoch = self.head.base;
        loop {
            let offset = self.head.start() + self.end;
            let len = (self.head.half_bytes - self.end).min(PIECE as u64) as usize;
            let bytes = read(&self.rt, &self.volume, offset, len).await?;
            let mut at = 0;
            let last = loop {
                let seat = Seat { salt: self.head.salt, offset: offset + at as u64 };
                match Record::decode(&bytes[at..], seat) {
                    Decoded::Record(record, len) if self.is_next(epoch, &record) => {
                        epoch = record.epoch;
                        let place = Place { offset: seat.offset, len: len as u32 };
                        self.note(record.key, record.value.map(|_| place));
                        at += len;
                    }
                    other => break other,
                }
            };
            self.end += at as u64;
            if at == 0 || last != Decoded::Short {
                return Ok(());
            }
        }
    }

    /// Whether a record may follow one of that epoch. One that is older was left there by an earlier time, behind records that a power cut took.
    fn is_next(&self, epoch: u64, record: &Record<'_>) -> bool {
        planted::is(Bug::LeftoversCount) || (epoch..=self.head.epoch).contains(&record.epoch)
    }
}

async fn read<V: BlockVolume>(rt: &Runtime, volume: &V, offset: u64, len: usize) -> Result<Vec<u8>, Error> {
    let into = rt.alloc(len.max(1)).slice(0..len);
    Ok(volume.read(offset, into).await?.bytes().to_vec())
}
