//! Pointers that callers hand in across the C ABI: valid for what NVML's contract says, or NULL.
#![expect(unsafe_code, reason = "reads and writes what C callers point to")]

use std::ffi::{CStr, c_char, c_uint, c_ulonglong};

use crate::code::{Answer, Code};

/// Where a caller wants a value, or an array of values; NULL is allowed.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T: Copy> Out<T> {
    /// Whether the caller passed NULL.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Writes one value; NULL is an invalid argument.
    pub(crate) fn put(self, value: T) -> Answer {
        if self.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: an `Out` only comes from an NVML caller, who promises room for one `T` behind a pointer
        // that is not NULL.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Reads what the caller put there; NULL is an invalid argument.
    pub(crate) fn get(self) -> Result<T, Code> {
        if self.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: NVML's in-out parameters are initialised by the caller.
        Ok(unsafe { self.0.read() })
    }

    /// The place `index` elements further on.
    pub(crate) fn at(self, index: usize) -> Self {
        Self(self.0.wrapping_add(index))
    }

    /// The structure that begins with this value.
    pub(crate) fn whole<Whole>(self) -> Out<Whole> {
        Out(self.0.cast())
    }

    /// The place right behind this value, where something else begins.
    pub(crate) fn behind<Next>(self) -> Out<Next> {
        Out(self.0.wrapping_add(1).cast())
    }

    /// Writes an array for which the caller has room.
    pub(crate) fn put_array(self, values: &[T]) -> Answer {
        for (index, value) in values.iter().enumerate() {
            self.at(index).put(*value)?;
        }
        Ok(())
    }

    /// Answers a call with a caller's array and its length, as NVML does: the length is set to what there is;
    /// NULL or too short an array is refused unless there is nothing to write.
    pub(crate) fn put_list(self, length: Out<c_uint>, values: &[T]) -> Answer {
        let room = length.get()?;
        let needed = c_uint::try_from(values.len()).unwrap_or(c_uint::MAX);
        length.put(needed)?;
        if needed > 0 && (self.is_null() || room < needed) {
            return Err(Code::INSUFFICIENT_SIZE);
        }
        self.put_array(values)
    }
}

/// A buffer for a text.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Text(*mut c_char);

impl Text {
    /// Writes `text` and its NUL into a buffer of `length` bytes.
    pub(crate) fn put(self, text: &str, length: c_uint) -> Answer {
        if self.0.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        if text.len() >= length as usize {
            return Err(Code::INSUFFICIENT_SIZE);
        }
        for (index, byte) in text.bytes().chain([0]).enumerate() {
            // SAFETY: the caller promises `length` bytes, and `text` with its NUL is not longer.
            unsafe { self.0.add(index).write(byte.cast_signed()) };
        }
        Ok(())
    }
}

/// A text that a caller hands in.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Given(*const c_char);

impl Given {
    /// Reads the text; NULL and text that is not UTF-8 are invalid arguments.
    pub(crate) fn get(self) -> Result<String, Code> {
        if self.0.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: NVML's callers pass texts that end with NUL.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map(str::to_owned).map_err(|_| Code::INVALID_ARGUMENT)
    }
}

/// Rows of a process list, whose size depends on the driver.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Rows(*mut c_ulonglong);

impl Rows {
    /// Whether the caller passed NULL.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Writes rows of whole words one after the other; the caller has room for them.
    pub(crate) fn put(self, rows: &[Vec<u64>]) {
        for (index, word) in rows.iter().flatten().enumerate() {
            // SAFETY: the caller promises room for as many rows as it said, and every row holds 64-bit words
            // that are aligned to 8.
            unsafe { self.0.add(index).write(*word) };
        }
    }
}
