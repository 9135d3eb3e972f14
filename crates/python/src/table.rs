//! Tables of columns that leave without a copy, by the Arrow C stream interface.

use std::sync::Arc;

use airlane_judge::summary::{RunEntry, Summary};
use airlane_report::model::Run;
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A table for whatever reads the Arrow C stream interface: pyarrow, polars, pandas, DuckDB.
#[pyclass(frozen, module = "airlane._airlane")]
pub(crate) struct Table(RecordBatch);

#[pymethods]
impl Table {
    /// The capsule of the Arrow C stream interface. Its buffers are those of the table.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may leave the request to its consumer.
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }
}

/// Columns of a table that is being made.
#[derive(Default)]
pub(crate) struct Columns(Vec<(Field, ArrayRef)>);

impl Columns {
    /// Adds a column of texts.
    pub(crate) fn texts<'a>(&mut self, name: &str, values: impl Iterator<Item = &'a str>) {
        let mut column = StringBuilder::new();
        values.for_each(|value| column.append_value(value));
        self.add(name, DataType::Utf8, Arc::new(column.finish()));
    }

    /// Adds a column of texts of which some are missing.
    pub(crate) fn texts_or_none<'a>(
        &mut self,
        name: &str,
        values: impl Iterator<Item = Option<&'a str>>,
    ) {
        let mut column = StringBuilder::new();
        values.for_each(|value| column.append_option(value));
        self.0.push((Field::new(name, DataType::Utf8, true), Arc::new(column.finish())));
    }

    /// Adds a column of numbers.
    pub(crate) fn numbers(&mut self, name: &str, values: impl Iterator<Item = f64>) {
        let mut column = Float64Builder::new();
        values.for_each(|value| column.append_value(value));
        self.add(name, DataType::Float64, Arc::new(column.finish()));
    }

    /// Adds a column of numbers of which some are missing.
    pub(crate) fn numbers_or_none(
        &mut self,
        name: &str,
        values: impl Iterator<Item = Option<f64>>,
    ) {
        let mut column = Float64Builder::new();
        values.for_each(|value| column.append_option(value));
        self.0.push((Field::new(name, DataType::Float64, true), Arc::new(column.finish())));
    }

    /// Adds a column of whole numbers.
    pub(crate) fn counts(&mut self, name: &str, values: impl Iterator<Item = u64>) {
        let mut column = Int64Builder::new();
        // Seeds are below 2^32.
        values.for_each(|value| column.append_value(value as i64));
        self.add(name, DataType::Int64, Arc::new(column.finish()));
    }

    fn add(&mut self, name: &str, kind: DataType, column: ArrayRef) {
        self.0.push((Field::new(name, kind, false), column));
    }

    /// The table of these columns.
    pub(crate) fn table(self) -> Table {
        let (fields, columns): (Vec<_>, Vec<_>) = self.0.into_iter().unzip();
        let schema = Arc::new(Schema::new(fields));
        Table(RecordBatch::try_new(schema, columns).expect("columns of one length and their types"))
    }
}

/// The figures of a summary, a row each.
pub(crate) fn rows(summary: &Summary) -> Table {
    let rows = &summary.rows;
    let mut columns = Columns::default();
    columns.texts("experiment", rows.iter().map(|row| row.experiment.as_str()));
    columns.texts("case", rows.iter().map(|row| row.case.as_str()));
    columns.texts("scheme", rows.iter().map(|row| row.scheme.as_str()));
    columns.counts("seed", rows.iter().map(|row| row.seed));
    columns.texts("metric", rows.iter().map(|row| row.metric.as_str()));
    columns.texts("unit", rows.iter().map(|row| row.unit.as_str()));
    columns.numbers("value", rows.iter().map(|row| row.value));
    columns.table()
}

/// The runs of a summary with their packet hashes, a row each.
pub(crate) fn runs(runs: &[RunEntry]) -> Table {
    let mut columns = Columns::default();
    columns.texts("experiment", runs.iter().map(|run| run.experiment.as_str()));
    columns.texts("case", runs.iter().map(|run| run.case.as_str()));
    columns.texts("scheme", runs.iter().map(|run| run.scheme.as_str()));
    columns.counts("seed", runs.iter().map(|run| run.seed));
    columns.texts_or_none("packet_hash", runs.iter().map(|run| run.packet_hash.as_deref()));
    columns.table()
}

/// A quantity over time: the points of the panel of this id in each run. What is no number is missing.
pub(crate) fn series(runs: &[Run], id: &str) -> Table {
    let points = || {
        let panels = runs.iter().flat_map(move |run| {
            run.panels.iter().filter(move |panel| panel.id == id).map(move |panel| (run, panel))
        });
        let lines =
            panels.flat_map(|(run, panel)| panel.series.iter().map(move |line| (run, line)));
        lines.flat_map(|(run, line)| (0..line.times_s.len()).map(move |at| (run, line, at)))
    };
    let case = |run: &Run| match run.case.strip_prefix("case ") {
        Some(name) => name.to_owned(),
        // The only one has no name in a report.
        None => "1".to_owned(),
    };
    let cases: Vec<String> = points().map(|(run, ..)| case(run)).collect();
    let mut columns = Columns::default();
    columns.texts("case", cases.iter().map(String::as_str));
    columns.texts("scheme", points().map(|(run, ..)| run.scheme.as_str()));
    columns.counts("seed", points().map(|(run, ..)| run.seed));
    columns.texts("name", points().map(|(_, line, _)| line.name.as_str()));
    columns.numbers("time_s", points().map(|(_, line, at)| line.times_s[at]));
    let value = |value: f64| value.is_finite().then_some(value);
    columns.numbers_or_none("value", points().map(|(_, line, at)| value(line.values[at])));
    columns.table()
}
