//! Tables in Markdown: what the examples print, and the goals read.

/// A table with its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The cells of each row.
    pub rows: Vec<Vec<String>>,
}

/// The cells of a line of a table.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(|cell| cell.trim().replace('`', "")).collect())
}

fn is_rule(cells: &[String]) -> bool {
    cells.iter().all(|cell| cell.contains('-') && cell.chars().all(|char| "-:".contains(char)))
}

/// The tables in a text.
#[must_use]
pub fn tables(text: &str) -> Vec<Printed> {
    let mut tables: Vec<Printed> = Vec::new();
    // The line before, which is a header if a rule follows it; whether a table continues.
    let (mut before, mut within) = (None, false);
    for line in text.lines() {
        let Some(row) = cells(line) else {
            (before, within) = (None, false);
            continue;
        };
        match (before.take(), tables.last_mut()) {
            (Some(columns), _) if is_rule(&row) => {
                tables.push(Printed { columns, rows: Vec::new() });
                within = true;
            }
            (_, Some(table)) if within => table.rows.push(row),
            _ => before = Some(row),
        }
    }
    tables
}

/// The number in the row that begins with this cell, in this column, of the first table that has
/// both.
#[must_use]
pub fn figure(tables: &[Printed], row: &str, column: &str) -> Option<f64> {
    tables.iter().find_map(|table| {
        let at = table.columns.iter().position(|name| name == column)?;
        let row = table.rows.iter().find(|cells| cells.first().is_some_and(|name| name == row))?;
        number(row.get(at)?)
    })
}

/// The number with which a cell begins. A bound (`> 100`) is none.
#[must_use]
pub fn number(cell: &str) -> Option<f64> {
    let digits: String = cell
        .chars()
        .take_while(|char| char.is_ascii_digit() || ",.".contains(*char))
        .filter(|char| *char != ',')
        .collect();
    digits.parse().ok()
}

/// A rate or a count with its thousands apart.
#[must_use]
pub fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_row_and_column() {
        let text = "before\n| program | ns | ratio |\n| --- | --: | :-- |\n| `a` | 1,234.5 | 2 times |\n\
                    | b | - | > 100 |\n\nafter\n| x | y |\n|---|---|\n| a | 7 |\n";
        let tables = tables(text);
        assert_eq!(tables.len(), 2);
        assert_eq!(figure(&tables, "a", "ns"), Some(1234.5));
        assert_eq!(figure(&tables, "a", "ratio"), Some(2.0));
        assert_eq!(figure(&tables, "a", "y"), Some(7.0));
        assert_eq!(figure(&tables, "b", "ns"), None);
        assert_eq!(figure(&tables, "b", "ratio"), None);
        assert_eq!(figure(&tables, "c", "ns"), None);
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!([7.4, 123_456.0, 1_234_567.0].map(grouped), ["7", "123,456", "1,234,567"]);
    }
}
