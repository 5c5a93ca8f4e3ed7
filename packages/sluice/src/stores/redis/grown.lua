-- Variable-length rows: entries of (time, sum) in the value itself, read and written one by one.
--- functions
local grown -- the variable-length rows of the key at hand
local base, section_size -- where its section begins in the value, nil while there is none; how many bytes follow the section's size
local exists -- whether the key has a value
local kept_until

local function entry_at(g, i)
  if g.times[i] then return end
  local from = base + g.position + 16 * i
  g.times[i], g.sums[i] = unpack_struct('<dd', call('GETRANGE', g.key, from, from + 15))
end

local function time_at(g, i)
  entry_at(g, i)
  return g.times[i]
end

local function sum_at(g, i)
  entry_at(g, i)
  return g.sums[i]
end

-- Where the section of this version begins in a value that begins with another one.
local function section_at(key, mark)
  local at = 18
  repeat
    local header = call('GETRANGE', key, at, at + 10)
    if #header < 11 then return nil end
    local found, bytes = unpack_struct('<c3d', header)
    if found == mark then return at end
    at = at + 11 + bytes
  until not (bytes >= 8 and bytes < 1e9)
end

local function other_sections(key, mark, clock)
  local value = call('GET', key)
  local others = ''
  «split»
  return others
end

-- Whether no other version has a section in the value.
local function is_alone(key)
  return not exists or (base == 18 and call('GETRANGE', key, 29 + section_size, 29 + section_size) == '')
end

-- Rewrites the value with this version's section first. Row g, if given, gets room for twice what it holds.
local function make_room(key, g, mark, clock)
  local others = ''
  if not is_alone(key) then others = other_sections(key, mark, clock) end
  local position = LENGTH - 18
  local parts = { '' }
  for _, one in ipairs(grown) do
    local live = one.tail - one.head
    local bytes = ''
    if live > 0 then
      local from = base + one.position
      bytes = call('GETRANGE', key, from + 16 * one.head, from + 16 * one.tail - 1)
    end
    if one == g or one.head > 0 then one.capacity = max(2 * live, 3) + 1 end
    parts[#parts + 1] = bytes
    parts[#parts + 1] = string.rep('\0', 16 * one.capacity - #bytes)
    one.position, one.head, one.tail, one.times, one.sums = position, 0, live, {}, {}
    position = position + 16 * one.capacity
  end
  parts[#parts + 1] = others
  base, section_size, exists = 18, position - 11, true
  -- The rest of the frame and of the header is written when the hit is saved. Another row may need room before.
  parts[1] = '!!' .. string.rep('\0', 16) .. mark .. pack('<d', section_size) .. string.rep('\0', LENGTH - 29)
  call('SET', key, table.concat(parts), 'KEEPTTL')
end

local function put_at(g, i, time, sum)
  if i >= g.capacity then
    make_room(g.key, g, g.mark, g.clock)
    i = g.tail
  end
  call('SETRANGE', g.key, base + g.position + 16 * i, pack('<dd', time, sum))
  g.times[i], g.sums[i] = time, sum
end

local function new_row(key, mark, clock)
  return {
    key = key, mark = mark, clock = clock,
    head = 0, tail = 0, base = 0, position = 0, capacity = 0, times = {}, sums = {},
  }
end

local function row_at(g, value, at)
  g.head, g.tail, g.base, g.position, g.capacity = unpack_struct('<ddddd', value, at)
end

local function row_bytes(g)
  return pack('<ddddd', g.head, g.tail, g.base, g.position, g.capacity)
end
--- load
local value = pcall('GETRANGE', key, 0, LENGTH - 1)
if type(value) == 'table' then
  failure = value.err
else
  exists, base, kept_until = #value > 0, nil, 0
  «new rows»
  grown = { «rows» }
  «stored» = «zeros»
  if sub(value, 1, 2) == '!!' and #value >= 18 then
    blocked_until, kept_until = unpack_struct('<dd', value, 3)
    base = 18
    if sub(value, 19, 21) ~= mark then
      base = section_at(key, mark)
      -- From here on the bytes are where they would be if the section were the first.
      if base then value = call('GETRANGE', key, base - 18, base - 19 + LENGTH) end
    end
    if base and #value == LENGTH then section_size = unpack_struct('<d', value, 22) else base = nil end
    if base and section_size < LENGTH - 29 then base = nil end
    if base then
      «stored» = unpack_struct(STORED, value, 30)
      «read rows»
    end
  end
end
--- report
«more»
-- In two parts: a call has room for only so many arguments.
report = pack(REPORT, «numbers»)«mores»
«taken at»
--- alone
is_alone(key)
--- save
if not base then make_room(key, nil, mark, clock) end
local frame = '!!' .. pack('<dd', blocked_until, max(kept_until, expires))
local section = mark .. pack('<d', section_size) .. pack(STORED, «stored») .. «row bytes»
local result
if base == 18 then
  result = pcall('SETRANGE', key, 0, frame .. section)
else
  result = pcall('SETRANGE', key, 0, frame)
  if type(result) ~= 'table' then result = pcall('SETRANGE', key, base, section) end
end
if expires > kept_until and type(result) ~= 'table' then result = pcall('PEXPIREAT', key, expires) end
if type(result) == 'table' and result.err then failure = result.err end
