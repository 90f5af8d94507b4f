pub struct Lookup; pub fn look_up() {}
