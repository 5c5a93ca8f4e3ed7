--- all
-- One command costs less than many. Only where no hit can see what another has written.
local values = distinct and call('MGET', unpack(KEYS))
--- load
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
  elseif sub(value, 1, 2) == '!!' and #value >= 10 then
    blocked_until = unpack_struct('<d', value, 3)
    if #value == 10 + LENGTH and sub(value, 11, 13) == mark then «stored» = unpack_struct(STORED, value, 14) end
  end
end
--- report
report = pack(CELLS, «cells»)
--- save
local result
if lasts and blocked_until == 0 then
  result = pcall('SETRANGE', key, '3', report)
else
  local value = mark .. report .. pack('<d', expires)
  if blocked_until ~= 0 and blocked_until > now - keep then value = '!!' .. pack('<d', blocked_until) .. value end
  result = pcall('SET', key, value, 'PXAT', expires)
end
if result ~= LENGTH and type(result) == 'table' and result.err then failure = result.err end
