//! What commands ask of a server, carried out.

use crate::control::Control;
use crate::error::RequestError;
use crate::home::Home;
use crate::served::Served;
use crate::volumes::check_shrink;
use cygnus_control::paging::Pages;
use cygnus_control::protocol::{Request, Response};
use cygnus_runtime::Runtime;
use cygnus_types::{ByteSize, Paging};
use cygnus_volume::{BlockVolume, VolumeSet};

impl<A: Served> Control for Home<A> {
    fn rt(&self) -> &Runtime {
        &self.rt
    }

    async fn carry_out(&self, request: Request) -> Response {
        let done = self.try_carry_out(request).await;
        done.unwrap_or_else(|error| Response::error(error.kind(), error.to_string()))
    }
}

impl<A: Served> Home<A> {
    async fn try_carry_out(&self, request: Request) -> Result<Response, RequestError> {
        match request {
            Request::Ping => {}
            Request::Status => return Ok(Response::Status { array: Box::new(self.status().await) }),
            Request::Stats => return Ok(Response::Stats { stats: Box::new(self.stats()) }),
            Request::VolumeList => return Ok(Response::Volumes { volumes: self.volumes() }),
            Request::Job { id } => return self.job_response(id),
            Request::Replace { member, device, force } => {
                return self.job_response(self.replace(&member, &device, force).await?);
            }
            Request::Stop => self.stop(),
            Request::VolumeCreate { name, size, ack, media, pages } => {
                let paging = pages.map_or(Ok(Paging::BLOCKS), Pages::paging)?;
                self.array.create_volume(&name, ByteSize(size), ack.map(|ack| ack.0), media, paging).await?;
            }
            Request::VolumeSet { name, ack } => self.array.set_acknowledged(&name, ack.0).await?,
            Request::VolumeDelete { name, force } => self.delete_volume(&name, force).await?,
            Request::VolumeResize { name, size, shrink } => self.resize_volume(&name, ByteSize(size), shrink).await?,
            other => return A::carry_out(self, other).await,
        }
        Ok(Response::Done)
    }

    /// How a job stands: the answer to a request that starts one, asks for it, or cancels it.
    pub fn job_response(&self, id: u64) -> Result<Response, RequestError> {
        let job = self.job(id).ok_or(RequestError::NoJob(id))?;
        Ok(Response::Job { job: Box::new(job) })
    }

    async fn delete_volume(&self, name: &str, force: bool) -> Result<(), RequestError> {
        let clients = self.connections(name);
        if clients > 0 && !force {
            return Err(RequestError::InUse { volume: name.into(), clients });
        }
        Ok(self.array.delete_volume(name).await?)
    }

    async fn resize_volume(&self, name: &str, size: ByteSize, shrink: bool) -> Result<(), RequestError> {
        let now = self.array.volumes().volume(name).map_or(0, |volume| volume.size());
        check_shrink(now, name, size, shrink)?;
        Ok(self.array.resize_volume(name, size).await?)
    }
}
