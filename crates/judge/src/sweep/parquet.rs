//! The tidy table as Parquet: the columns of the CSV with their types.

use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::table::{COLUMNS, Rows};
use crate::summary::Row;
use airlane_sim::LabError;

/// Rows that are written at once.
const GROUP: usize = 1 << 20;

/// A column: what it holds of a range of rows.
enum Column {
    Text(Vec<ByteArray>),
    Number(Vec<f64>),
    Count(Vec<i64>),
    Flag(Vec<bool>),
}

/// The table as a Parquet file. A key of the grid whose values are all numbers is a column of
/// numbers, one whose values are all flags a column of flags, any other one of texts.
///
/// # Errors
/// If the writer fails: a fault of ours, for it writes to memory.
pub(super) fn bytes(rows: &Rows<'_>) -> Result<Vec<u8>, LabError> {
    write(rows).map_err(|e| LabError::fault(format!("cannot write sweep.parquet: {e}")))
}

fn write(table: &Rows<'_>) -> Result<Vec<u8>, ParquetError> {
    let names = table.keys.iter().copied().chain(COLUMNS);
    let fields = names.zip(columns(table, 0..table.rows.len().min(1)));
    let fields = fields.map(|(name, column)| column.field(name)).collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("sweep").with_fields(fields).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    for start in (0..table.rows.len()).step_by(GROUP) {
        let mut group = file.next_row_group()?;
        for column in columns(table, start..table.rows.len().min(start + GROUP)) {
            column.write(&mut group)?;
        }
        group.close()?;
    }
    file.into_inner()
}

fn columns(table: &Rows<'_>, range: std::ops::Range<usize>) -> Vec<Column> {
    let rows = &table.rows[range];
    let mut columns: Vec<Column> = Vec::new();
    for key in 0..table.keys.len() {
        let all = || table.rows.iter().map(|(values, _)| values[key]);
        let of_range = rows.iter().map(|(values, _)| values[key]);
        columns.push(if all().all(|v| v.number().is_some()) {
            Column::Number(of_range.filter_map(|v| v.number()).collect())
        } else if all().all(|v| v.flag().is_some()) {
            Column::Flag(of_range.filter_map(|v| v.flag()).collect())
        } else {
            Column::Text(of_range.map(|v| v.text().into()).collect())
        });
    }
    let text =
        |of: fn(&Row) -> &str| Column::Text(rows.iter().map(|(_, r)| of(r).into()).collect());
    columns.push(text(|r| &r.case));
    columns.push(text(|r| &r.scheme));
    // Seeds are below 2^32.
    columns.push(Column::Count(rows.iter().map(|(_, r)| r.seed as i64).collect()));
    columns.push(text(|r| &r.metric));
    columns.push(text(|r| &r.unit));
    columns.push(Column::Number(rows.iter().map(|(_, r)| r.value).collect()));
    columns
}

impl Column {
    fn field(&self, name: &str) -> Result<Arc<Type>, ParquetError> {
        let (physical, converted) = match self {
            Self::Text(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            Self::Number(_) => (Physical::DOUBLE, ConvertedType::NONE),
            Self::Count(_) => (Physical::INT64, ConvertedType::NONE),
            Self::Flag(_) => (Physical::BOOLEAN, ConvertedType::NONE),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_converted_type(converted)
            .with_repetition(Repetition::REQUIRED);
        field.build().map(Arc::new)
    }

    fn write(&self, group: &mut SerializedRowGroupWriter<'_, Vec<u8>>) -> Result<(), ParquetError> {
        let mut column = group.next_column()?.expect("as many columns as the schema has");
        match self {
            Self::Text(v) => column.typed::<ByteArrayType>().write_batch(v, None, None)?,
            Self::Number(v) => column.typed::<DoubleType>().write_batch(v, None, None)?,
            Self::Count(v) => column.typed::<Int64Type>().write_batch(v, None, None)?,
            Self::Flag(v) => column.typed::<BoolType>().write_batch(v, None, None)?,
        };
        column.close()
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;
    use airlane_scenario::Grid;

    #[test]
    fn the_file_reads_back_with_types() {
        let text = "[link]\nrate_bps = 1e6\n[[scheme]]\nname = \"a\"\n[[bulk]]\n[grid]\n\
                    \"link.rtt_s\" = [0.02, 1]\n\"link.queue.kind\" = [\"pie\", \"droptail\"]\n";
        let grid = Grid::from_bytes(
            &airlane_scenario::Registry::default(),
            text.as_bytes(),
            "s.toml".as_ref(),
            &[],
            &[],
        )
        .unwrap();
        let row = |value| Row {
            experiment: "s".to_owned(),
            case: "1/a".to_owned(),
            scheme: "a".to_owned(),
            seed: 7,
            metric: "goodput_bps".to_owned(),
            unit: "bit/s".to_owned(),
            value,
        };
        let made = [row(0.1), row(2.5)];
        let axes = grid.axes();
        let values = |i: usize| vec![&axes[0].values[i], &axes[1].values[i]];
        let rows = Rows {
            keys: axes.iter().map(|a| a.key.as_str()).collect(),
            rows: made.iter().enumerate().map(|(i, row)| (values(i), row)).collect(),
        };
        let file = super::bytes(&rows).unwrap();
        assert_eq!(file, super::bytes(&rows).unwrap(), "the same bytes again");
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let read: Vec<String> =
            reader.get_row_iter(None).unwrap().map(|r| r.unwrap().to_string()).collect();
        assert_eq!(
            read,
            [
                "{link.rtt_s: 0.02, link.queue.kind: \"pie\", case: \"1/a\", scheme: \"a\", seed: 7, \
                 metric: \"goodput_bps\", unit: \"bit/s\", value: 0.1}",
                "{link.rtt_s: 1.0, link.queue.kind: \"droptail\", case: \"1/a\", scheme: \"a\", \
                 seed: 7, metric: \"goodput_bps\", unit: \"bit/s\", value: 2.5}",
            ]
        );
    }
}
