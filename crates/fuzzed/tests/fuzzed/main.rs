//! The fuzz targets' checks, on the same inputs in every run.

mod damage;
mod inputs;
mod seeds;
mod table;
