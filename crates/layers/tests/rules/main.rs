//! The rules of the house. One program, so that it is linked once and its tests run side by side.

mod documents;
mod house;
mod reach;
mod seam;
mod services;
