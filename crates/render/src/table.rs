//! A plain table: the first column to the left, the others to the right.

use unicode_width::UnicodeWidthStr as _;

/// Blanks between two columns.
const GAP: usize = 2;

/// Draws rows as lines, each ended by a line feed. Rows may be shorter than the longest one.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut drawn = String::new();
    for row in rows {
        let mut line = String::new();
        for (place, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let blanks = " ".repeat(width - cell.width());
            if place == 0 {
                line.push_str(cell);
                line.push_str(&blanks);
            } else {
                line.push_str(&" ".repeat(GAP));
                line.push_str(&blanks);
                line.push_str(cell);
            }
        }
        drawn.push_str(line.trim_end());
        drawn.push('\n');
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn columns_stand_below_each_other_whatever_the_script() {
        let rows = [vec![String::new(), "CPU ms".to_owned()], vec!["进程".to_owned(), "1.5".to_owned()]];
        assert_eq!(table(&rows), "      CPU ms\n进程     1.5\n");
        assert_eq!(table(&[vec!["only".to_owned()], Vec::new()]), "only\n\n");
        assert_eq!(table(&[]), "");
    }
}
