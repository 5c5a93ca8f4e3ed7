--- all
-- One command costs less than many. Only where no hit can see what another has written.
local values = distinct and call('MGET', unpack(KEYS))
--- load
-- frame: the value, unless it is just this version's row. cells_at: where the cells of this version's section begin in it.
local frame, cells_at
-- What MGET has not found may also be of another type.
local value = values and verb ~= 'z' and values[j] or pcall('GET', key)
«stored» = «zeros»
local found
if value and #value == LENGTH then
  found, «stored» = unpack_struct(WHOLE, value)
  if found ~= mark then «stored» = «zeros» end
end
if value and found ~= mark then
  if type(value) ~= 'string' then
    failure = value.err
  else
    frame = value
    if sub(value, 1, 2) == '!!' and #value >= 18 then
      blocked_until = unpack_struct('<d', value, 3)
      local at = 19
      while at + 18 <= #value do
        local version, bytes = unpack_struct('<c3d', value, at)
        if version == mark and bytes == LENGTH - 3 and at + 10 + bytes <= #value then
          «stored» = unpack_struct(STORED, value, at + 11)
          cells_at = at + 18
          break
        end
        if not (bytes >= 8) then break end
        at = at + 11 + bytes
      end
    end
  end
end
--- report
report = pack(CELLS, «cells»)
--- alone
not frame
--- save
local result
if lasts and not frame and blocked_until == 0 then
  result = pcall('SETRANGE', key, '11', report)
elseif lasts and cells_at and verb ~= 'b' then
  result = pcall('SETRANGE', key, cells_at, report)
else
  local others, kept_until, value = '', expires, frame
  if frame then
    «split»
  end
  local row = pack('<d', expires) .. report
  value = mark .. row
  if others ~= '' or (blocked_until ~= 0 and blocked_until > now - keep) then
    local section = ''
    if «used» then section = mark .. pack('<d', #row) .. row end
    value = '!!' .. pack('<dd', blocked_until, kept_until) .. section .. others
  end
  result = pcall('SET', key, value, 'PXAT', kept_until)
end
if result ~= LENGTH and type(result) == 'table' and result.err then failure = result.err end
