//! Tables of figures that somebody measured: memory step by step, transfers alone and at once, a benchmark of each card.
//!
//! What a column means only its own name says; where that leaves a doubt, the table is left alone.

mod benchmark;
mod flows;
mod memory;
mod series;
mod table;

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::scene::{Figures, LogLine, ProgramFact, Provenance, Scene, SourceKind};

use super::block::{Block, Context};
use crate::Format;
use crate::paste::Line;
use table::Table;

/// Reads the table that begins with the first of these lines.
pub(super) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    // Every line of a paste is asked: most of them name nothing that is read here.
    let first = lines.first()?.text.to_ascii_lowercase();
    if let Some(block) = series::read(&first, lines) {
        return Some(block);
    }
    if !(memory::may_begin(&first) || flows::may_begin(&first) || benchmark::may_begin(&first)) {
        return None;
    }
    let table = Table::of(lines)?;
    let mut figures: Vec<Figures> = memory::figures(&table).into_iter().collect();
    if figures.is_empty() {
        figures = flows::figures(&table);
    }
    if figures.is_empty() {
        figures = benchmark::figures(&table);
    }
    if figures.is_empty() {
        return None;
    }
    let text = masked_text(&table.heading.join(" | "));
    let line = |figures| LogLine {
        text: text.clone(),
        fact: Some(ProgramFact::Figures(figures)),
        ..LogLine::default()
    };
    let provenance = Provenance { source: SourceKind::Text, inputs: vec![Format::Figures.to_string()] };
    let program = figures.into_iter().map(line).collect();
    Some(Block {
        lines: table.lines,
        scene: Scene { program, provenance, ..Scene::default() },
        remarks: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::scene::{Figures, ProgramFact};
    use proptest::prelude::*;

    use super::read;
    use crate::paste::Paste;
    use crate::text::{Block, Context};

    fn block(text: &str) -> Option<Block> {
        read(&Paste::of(text).lines, &Context::default())
    }

    fn figures(text: &str) -> Vec<Figures> {
        let program = block(text).unwrap_or_default().scene.program;
        let of = |fact| if let Some(ProgramFact::Figures(figures)) = fact { Some(figures) } else { None };
        program.into_iter().filter_map(|line| of(line.fact)).collect()
    }

    fn held(text: &str) -> Vec<u64> {
        match &figures(text)[..] {
            [Figures::MemorySteps(steps)] => steps.iter().map(|step| step.held.0 >> 20).collect(),
            other => panic!("{text}: {other:?}"),
        }
    }

    const STATES: &str =
        "viewer | shell VRAM, MiB\nshut | 700\nup | 720\nshut | 740\nup | 760\nshut | 780\nup | 790\n";

    #[test]
    fn memory_step_by_step_is_read_in_every_form_of_table() {
        assert_eq!(held(STATES), [700, 720, 740, 760, 780, 790]);
        for text in [
            "| step | VRAM (MiB) |\n|---|---|\n| 1 | 700 |\n| 2 | 720 |\n| 3 | 1,040 |\n\nend",
            "step,gpu_mem_used_mib\n1,700\n2,720\n3,1040\n",
            "step\tVRAM [MiB]\n1\t700\n2\t720\n3\t1040\n",
            "epoch   VRAM used MiB\n1       700\n2       720\n3       1040\n",
            "time      VRAM\n10:00:01  700 MiB\n10:01:01  720 MiB\n10:02:01  1040 MiB\n",
        ] {
            assert_eq!(held(text), [700, 720, 1040], "{text}");
        }
    }

    #[test]
    fn tables_that_leave_a_doubt_are_left_alone() {
        for text in [
            // No unit; no order of time; one row for each card; two columns of it; a time that goes back; a limit.
            "step,vram\n1,700\n2,720\n3,740\n",
            "model,vram_mib\na,700\nb,720\nc,740\n",
            "batch,vram_mib\n1,700\n2,720\n4,740\n",
            "gpu,vram_mib\n0,700\n1,720\n2,740\n",
            "step,vram_mib,other_vram_mib\n1,700,1\n2,720,2\n3,740,3\n",
            "step,vram_mib\n3,700\n2,720\n1,740\n",
            "step,vram_limit_mib\n1,700\n2,720\n3,740\n",
            "gpu,score\n0,700\n1,720\n2,740\n",
            "gpu,model,tflops\n0,A100,200\n1,H100,600\n2,A100,201\n",
            "flows,gbps\nall of them,3\nnone,4\n",
        ] {
            assert_eq!(figures(text), [], "{text}");
        }
    }

    #[test]
    fn transfers_are_read_with_each_column() {
        let text = "flows,write_gbps,read_total_gbps\nGPU0->GPU2,30,31\nGPU0->GPU2 + GPU1->GPU3,3,50\n\"GPU0,1->GPU2\",4,40\nall,1,2\n";
        let all = figures(text);
        let [Figures::Flows(write), Figures::Flows(read)] = &all[..] else { panic!("{all:?}") };
        assert_eq!(write[0].at_once, ["0->2"]);
        assert_eq!(write[1].at_once, ["0->2", "1->3"]);
        assert_eq!(write[2].at_once, ["0->2", "1->2"]);
        assert_eq!((write.len(), write[1].rate, write[1].is_total), (3, 3.0, false));
        assert_eq!((read[1].rate, read[1].is_total), (50.0, true));
        assert_eq!(block(text).unwrap().lines, 5);
    }

    #[test]
    fn benchmarks_are_read_with_each_column() {
        let text = "| GPU | TFLOPS | step time (s) |\n|:--|--:|--:|\n| GPU0 | 201.5 | 1.5 |\n| GPU1 | 180 | 1.7 |\n| GPU2 | 202 | 1.5 |\n";
        let all = figures(text);
        let [Figures::Benchmark(speed), Figures::Benchmark(time)] = &all[..] else { panic!("{all:?}") };
        assert_eq!(
            (speed.is_time, speed.members[1].name.as_str(), speed.members[1].value),
            (false, "GPU1", 180.0)
        );
        assert_eq!((time.is_time, time.members[1].value), (true, 1.7));
        assert_eq!(figures("node       samples/s\nn01        120\nn02        121\nn03        99\n").len(), 1);
    }

    proptest! {
        #[test]
        fn damage_breaks_nothing(place in 0..400_usize, with in ".{0,3}") {
            let mut text = format!("{STATES}\nflows,gbps\nGPU0->GPU2,30\nGPU0->GPU2 + GPU1->GPU3,3\n\nrank  img/s\n0  5\n1  6\n2  7\n");
            let at = place % text.len();
            text.replace_range(at..at, &with);
            let lines = Paste::of(&text).lines;
            for begin in 0..lines.len() {
                let _ = read(&lines[begin..], &Context::default());
            }
            let _ = block(&text[..at]);
        }
    }
}
