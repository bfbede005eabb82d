//! Gives the library the name under which NVML programs load it.

fn main() {
    // `println!` is how a build script talks to cargo.
    let soname = "-Wl,-soname,libnvidia-ml.so.1";
    std::io::Write::write_all(
        &mut std::io::stdout(),
        format!("cargo::rustc-cdylib-link-arg={soname}\ncargo::rerun-if-changed=build.rs\n").as_bytes(),
    )
    .expect("cargo reads what a build script prints");
}
