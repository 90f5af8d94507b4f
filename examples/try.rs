use overstep::address::*; use overstep::handler::known::*; use overstep::record::control::*; use overstep::session::arm::*;
use overstep::record::memory_trace::MemoryTrace;
#[unsafe(no_mangle)] #[inline(never)] pub extern "C" fn gcd(a:u64,b:u64)->u64{ if b==0 {a} else {gcd(b, a % b)} }
#[unsafe(no_mangle)] #[inline(never)] pub extern "C" fn looped(a:u64)->u64{ let mut s=0; for i in 0..a { s = std::hint::black_box(s+i) ; } s }
fn main(){
  let maps=std::fs::read_to_string("/proc/self/maps").unwrap();
  let mut code=vec![];
  for l in maps.lines(){ let f:Vec<_>=l.split_whitespace().collect(); if f[1].contains('x') && f.get(5).is_some_and(|p| p.contains("try")){ let (a,b)=f[0].split_once('-').unwrap();
    code.push(CodeRange{start:RuntimeAddr(u64::from_str_radix(a,16).unwrap()), end:RuntimeAddr(u64::from_str_radix(b,16).unwrap())}); } }
  let a:Vec<String>=std::env::args().collect();
  let engine= match a[1].as_str() {"bp"|"fa"|"blk"=>Engine::Breakpoint, _=>Engine::TrapFlag};
  let delivery = match a[1].as_str() {"bp"|"blk"=>Delivery::Sigtrap,"fa"=>Delivery::Fasync,_=>Delivery::Trap};
  let n:u64=a[2].parse().unwrap();
  let t:&'static MemoryTrace=Box::leak(Box::new(MemoryTrace::new(1<<30).unwrap()));
  let image=KnownImage{ scope:Some(code.into()), ..Default::default()};
  let settings=Settings{engine,delivery,rearm:Rearm::RefreshPeriod,step: if a[1]=="blk" {StepMode::Block} else {StepMode::Instruction},into:Into::Module,first_call:1,calls:u64::MAX,max_steps:u64::MAX,registers:true,memory:false};
  let f = TracedFunction{entry:RuntimeAddr(if n<1000 {gcd as *const () as u64} else {looped as *const () as u64}),pattern:0};
  let armed=arm(Request{settings,functions:vec![f],image,buffer:unsafe{t.buffer()},progress:t.progress(),reach:Reach::Thread,mispredict_at:0}).unwrap();
  let s=std::time::Instant::now();
  let r= if n<1000 {gcd(48,n)} else {looped(n)};
  let e=s.elapsed();
  drop(armed);
  println!("{r} {:?} used {:?}",e,t.progress());
}
