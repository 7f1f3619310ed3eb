//! The forms in which a trace is written.

/// A form of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The current schema: `quic:` and `http3:` events.
    Current,
    /// qlog 0.3 (draft-ietf-quic-qlog-main-schema-02), as qvis reads it.
    Qvis,
}

/// The forms in which a trace is written: any of the two, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Forms {
    /// Write the current schema.
    pub current: bool,
    /// Write qlog 0.3 for qvis.
    pub qvis: bool,
}

impl Forms {
    /// No trace.
    pub const NONE: Self = Self { current: false, qvis: false };
    /// The current schema only.
    pub const CURRENT: Self = Self { current: true, qvis: false };
    /// Both forms.
    pub const BOTH: Self = Self { current: true, qvis: true };

    /// Returns true if there is a form to write.
    pub fn any(self) -> bool {
        self.current || self.qvis
    }
}

/// A buffer of text for each form that is written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    pub current: Option<Vec<u8>>,
    pub qvis: Option<Vec<u8>>,
}

impl Texts {
    pub fn new(forms: Forms) -> Self {
        let text = |wanted: bool| wanted.then(Vec::new);
        Self { current: text(forms.current), qvis: text(forms.qvis) }
    }

    /// Calls `write` for each form.
    #[inline]
    pub fn each(&mut self, mut write: impl FnMut(Form, &mut Vec<u8>)) {
        if let Some(text) = &mut self.current {
            write(Form::Current, text);
        }
        if let Some(text) = &mut self.qvis {
            write(Form::Qvis, text);
        }
    }

    pub fn get_mut(&mut self, form: Form) -> Option<&mut Vec<u8>> {
        match form {
            Form::Current => self.current.as_mut(),
            Form::Qvis => self.qvis.as_mut(),
        }
    }

    /// Returns the bytes of all forms.
    pub fn len(&self) -> usize {
        let length = |text: &Option<Vec<u8>>| text.as_ref().map_or(0, Vec::len);
        length(&self.current) + length(&self.qvis)
    }

    pub fn clear(&mut self) {
        self.each(|_, text| text.clear());
    }
}
